/* What the C tests share: files in memory, and expectations that count their failures. */
#ifndef CUZK_CAPI_TEST_SUPPORT_H
#define CUZK_CAPI_TEST_SUPPORT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;

#define EXPECT(condition)                                                     \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      ++failures;                                                             \
    }                                                                         \
  } while (0)

typedef struct bytes {
  char* data; /* with a NUL after the last byte */
  size_t size;
} bytes;

static void path_of(char* out, size_t out_size, const char* directory, const char* name) {
  const int length = snprintf(out, out_size, "%s/%s", directory, name);
  if (length < 0 || (size_t)length >= out_size) {
    fprintf(stderr, "too long a path: %s\n", directory);
    exit(2);
  }
}

static bytes read_bytes(const char* directory, const char* name) {
  char path[4096];
  bytes out = {NULL, 0};
  FILE* file;
  long size;
  path_of(path, sizeof path, directory, name);
  file = fopen(path, "rb");
  if (!file) {
    fprintf(stderr, "cannot read %s\n", path);
    exit(2);
  }
  fseek(file, 0, SEEK_END);
  size = ftell(file);
  fseek(file, 0, SEEK_SET);
  out.data = malloc((size_t)size + 1);
  out.size = fread(out.data, 1, (size_t)size, file);
  out.data[out.size] = '\0';
  fclose(file);
  return out;
}

#endif
