/* cuzk.h as a C99 program sees it. capi_test DIRECTORY: testdata/circom. */
#define _POSIX_C_SOURCE 200809L

#include <pthread.h>
#include <unistd.h>

#include "cuzk.h"
#include "test_support.h"

static void write_bytes(const char *path, const bytes *content) {
  FILE *file = fopen(path, "wb");
  if (!file || fwrite(content->data, 1, content->size, file) != content->size) {
    fprintf(stderr, "cannot write %s\n", path);
    exit(2);
  }
  fclose(file);
}

static cuzk_engine *make_engine(void) {
  cuzk_engine *engine = NULL;
  cuzk_error error;
  cuzk_engine_options options = {sizeof options, 2, 0};
  EXPECT(cuzk_engine_create(&options, &engine, &error) == CUZK_OK);
  return engine;
}

static cuzk_code verify(cuzk_engine *engine, const char *directory, const char *public_json,
                        const char *proof_json, cuzk_error *error) {
  bytes vk = read_bytes(directory, "verification_key.json");
  const cuzk_code code = cuzk_verify(engine, vk.data, public_json, proof_json, 0, error);
  free(vk.data);
  return code;
}

/* A proof holds; it does not for other signals; snarkjs' own does. */
static void prove_and_verify(const char *directory, const char *curve) {
  cuzk_engine *engine = make_engine();
  cuzk_key *key = NULL;
  cuzk_proof *proof = NULL;
  cuzk_error error;
  cuzk_key_info info = {sizeof info, NULL, 0, 0, 0};
  const char *vk = NULL;
  bytes zkey = read_bytes(directory, "circuit_final.zkey");
  bytes wtns = read_bytes(directory, "witness.wtns");
  bytes snarkjs_vk = read_bytes(directory, "verification_key.json");
  bytes snarkjs_proof = read_bytes(directory, "proof.json");
  bytes snarkjs_public = read_bytes(directory, "public.json");

  EXPECT(cuzk_key_open_memory(engine, zkey.data, zkey.size, CUZK_KEY_RESIDENT, &key, &error) ==
         CUZK_OK);
  EXPECT(cuzk_key_get_info(key, &info, &error) == CUZK_OK);
  EXPECT(strcmp(info.curve, curve) == 0);
  EXPECT(info.num_public == 1 && info.num_wires == 19 && info.domain_size == 16);
  EXPECT(cuzk_key_verification_key(key, &vk, &error) == CUZK_OK);
  EXPECT(strcmp(vk, snarkjs_vk.data) == 0);

  EXPECT(cuzk_prove(key, wtns.data, wtns.size, NULL, &proof, &error) == CUZK_OK);
  EXPECT(strcmp(cuzk_proof_public_json(proof), snarkjs_public.data) == 0);
  EXPECT(strstr(cuzk_proof_timings_json(proof), "\"verify\": ") != NULL);
  EXPECT(verify(engine, directory, snarkjs_public.data, cuzk_proof_json(proof), &error) == CUZK_OK);
  EXPECT(verify(engine, directory, "[\"1\"]", cuzk_proof_json(proof), &error) ==
         CUZK_PROOF_INVALID);
  EXPECT(strlen(error.message) > 10 && error.code == CUZK_PROOF_INVALID);
  EXPECT(verify(engine, directory, "[]", cuzk_proof_json(proof), &error) == CUZK_MISMATCH);
  EXPECT(verify(engine, directory, snarkjs_public.data, "{}", &error) == CUZK_BAD_INPUT);
  EXPECT(verify(engine, directory, snarkjs_public.data, snarkjs_proof.data, &error) == CUZK_OK);

  /* In any order. */
  cuzk_engine_destroy(engine);
  cuzk_proof_destroy(proof);
  EXPECT(cuzk_prove(key, wtns.data, wtns.size, NULL, &proof, &error) == CUZK_OK);
  cuzk_key_destroy(key);
  EXPECT(strlen(cuzk_proof_json(proof)) > 100);
  cuzk_proof_destroy(proof);
  free(zkey.data);
  free(wtns.data);
  free(snarkjs_vk.data);
  free(snarkjs_proof.data);
  free(snarkjs_public.data);
}

static void mistakes(const char *directory, const char *other_directory) {
  cuzk_engine *engine = make_engine();
  cuzk_engine *none = (cuzk_engine *)1;
  cuzk_key *key = (cuzk_key *)1;
  cuzk_proof *proof = (cuzk_proof *)1;
  cuzk_error error;
  cuzk_engine_options future = {sizeof future + 8, 0, 0};
  cuzk_engine_options tiny = {sizeof tiny, 1, 1000};
  cuzk_prove_options unsized = {0, NULL, NULL, NULL};
  bytes zkey = read_bytes(directory, "circuit_final.zkey");
  bytes wtns = read_bytes(directory, "witness.wtns");
  bytes other = read_bytes(other_directory, "witness.wtns");

  EXPECT(cuzk_engine_create(&future, &none, &error) == CUZK_INVALID_ARGUMENT && none == NULL);
  EXPECT(strstr(error.message, "struct_size") != NULL);
  EXPECT(cuzk_engine_create(NULL, NULL, NULL) == CUZK_INVALID_ARGUMENT);

  EXPECT(cuzk_key_open_memory(engine, zkey.data, 1000, 0, &key, &error) == CUZK_BAD_INPUT);
  EXPECT(key == NULL && strstr(error.message, "the zkey") != NULL);
  EXPECT(cuzk_key_open_memory(engine, "", 0, 0, &key, &error) == CUZK_BAD_INPUT);
  EXPECT(cuzk_key_open_memory(engine, NULL, 0, 0, &key, &error) == CUZK_INVALID_ARGUMENT);
  EXPECT(cuzk_key_open_memory(NULL, zkey.data, zkey.size, 0, &key, &error) ==
         CUZK_INVALID_ARGUMENT);
  EXPECT(cuzk_key_open_memory(engine, zkey.data, zkey.size, 1u << 9, &key, &error) ==
         CUZK_INVALID_ARGUMENT);
  EXPECT(cuzk_key_open_memory(engine, zkey.data, zkey.size, 0, NULL, &error) ==
         CUZK_INVALID_ARGUMENT);
  EXPECT(cuzk_key_open_file(engine, "/does/not/exist.zkey", 0, &key, &error) == CUZK_BAD_INPUT);
  EXPECT(strstr(error.message, "/does/not/exist.zkey") != NULL);
  EXPECT(cuzk_key_open_file(engine, NULL, 0, &key, NULL) == CUZK_INVALID_ARGUMENT);

  EXPECT(cuzk_key_open_memory(engine, zkey.data, zkey.size, 0, &key, &error) == CUZK_OK);
  EXPECT(cuzk_prove(key, other.data, other.size, NULL, &proof, &error) == CUZK_MISMATCH);
  EXPECT(proof == NULL && strstr(error.message, "bls12-381") != NULL);
  EXPECT(cuzk_prove(key, wtns.data, wtns.size / 2, NULL, &proof, &error) == CUZK_BAD_INPUT);
  EXPECT(cuzk_prove(key, wtns.data, wtns.size, &unsized, &proof, &error) == CUZK_INVALID_ARGUMENT);
  EXPECT(cuzk_prove(key, NULL, 0, NULL, &proof, &error) == CUZK_INVALID_ARGUMENT);
  EXPECT(cuzk_prove(NULL, wtns.data, wtns.size, NULL, &proof, &error) == CUZK_INVALID_ARGUMENT);
  EXPECT(cuzk_prove(key, wtns.data, wtns.size, NULL, NULL, &error) == CUZK_INVALID_ARGUMENT);
  /* A wrong witness of the right shape. */
  wtns.data[wtns.size - 32 * 5] ^= 1;
  EXPECT(cuzk_prove(key, wtns.data, wtns.size, NULL, &proof, &error) == CUZK_MISMATCH);
  EXPECT(strstr(error.message, "satisf") != NULL);
  cuzk_key_destroy(key);
  cuzk_engine_destroy(engine);

  EXPECT(cuzk_engine_create(&tiny, &engine, &error) == CUZK_OK);
  EXPECT(cuzk_key_open_memory(engine, zkey.data, zkey.size, CUZK_KEY_RESIDENT, &key, &error) ==
         CUZK_RESOURCES);
  cuzk_engine_destroy(engine);

  cuzk_engine_destroy(NULL);
  cuzk_key_destroy(NULL);
  cuzk_proof_destroy(NULL);
  cuzk_cancel_destroy(NULL);
  cuzk_cancel_request(NULL);
  EXPECT(cuzk_proof_json(NULL) == NULL);
  free(zkey.data);
  free(wtns.data);
  free(other.data);
}

typedef struct progress_log {
  int begun, ended, verify_seen;
} progress_log;

static void on_progress(void *user, const char *stage, int ended) {
  progress_log *log = user;
  if (ended) {
    ++log->ended;
  } else {
    ++log->begun;
  }
  if (strcmp(stage, "verify") == 0) log->verify_seen = 1;
}

typedef struct cancelling {
  cuzk_cancel *cancel;
  int calls;
} cancelling;

static void cancel_at_once(void *user, const char *stage, int ended) {
  cancelling *c = user;
  (void)stage;
  (void)ended;
  ++c->calls;
  cuzk_cancel_request(c->cancel);
}

static void progress_and_cancel(const char *directory) {
  cuzk_engine *engine = make_engine();
  cuzk_key *key = NULL;
  cuzk_proof *proof = NULL;
  cuzk_error error;
  progress_log log = {0, 0, 0};
  cancelling stopper = {cuzk_cancel_create(), 0};
  cuzk_prove_options options = {sizeof options, NULL, on_progress, &log};
  bytes wtns = read_bytes(directory, "witness.wtns");
  char path[4096];
  path_of(path, sizeof path, directory, "circuit_final.zkey");
  EXPECT(cuzk_key_open_file(engine, path, 0, &key, &error) == CUZK_OK);
  EXPECT(cuzk_prove(key, wtns.data, wtns.size, &options, &proof, &error) == CUZK_OK);
  EXPECT(log.begun > 5 && log.begun == log.ended && log.verify_seen);
  cuzk_proof_destroy(proof);

  options.cancel = stopper.cancel;
  options.progress = cancel_at_once;
  options.progress_user = &stopper;
  EXPECT(cuzk_prove(key, wtns.data, wtns.size, &options, &proof, &error) == CUZK_CANCELLED);
  EXPECT(proof == NULL && stopper.calls > 0);
  /* It stays requested. */
  EXPECT(cuzk_prove(key, wtns.data, wtns.size, &options, &proof, &error) == CUZK_CANCELLED);
  cuzk_cancel_destroy(stopper.cancel);
  cuzk_key_destroy(key);
  cuzk_engine_destroy(engine);
  free(wtns.data);
}

/* The key's file is replaced by another while the key is open: the mapping stays what it was. */
static void file_replaced(const char *directory) {
  char path[] = "/tmp/cuzk-capi-test-XXXXXX";
  const int fd = mkstemp(path);
  char next[sizeof path + 8];
  bytes zkey = read_bytes(directory, "circuit_final.zkey");
  bytes wtns = read_bytes(directory, "witness.wtns");
  bytes garbage = {"not a key", 9};
  cuzk_engine *engine = make_engine();
  cuzk_key *key = NULL;
  cuzk_error error;
  int i;
  EXPECT(fd >= 0);
  close(fd);
  write_bytes(path, &zkey);
  EXPECT(cuzk_key_open_file(engine, path, 0, &key, &error) == CUZK_OK);
  for (i = 0; i < 3; ++i) {
    cuzk_proof *proof = NULL;
    EXPECT(cuzk_prove(key, wtns.data, wtns.size, NULL, &proof, &error) == CUZK_OK);
    cuzk_proof_destroy(proof);
    snprintf(next, sizeof next, "%s.next", path);
    write_bytes(next, &garbage);
    EXPECT(rename(next, path) == 0);
  }
  unlink(path);
  cuzk_key_destroy(key);
  cuzk_engine_destroy(engine);
  free(zkey.data);
  free(wtns.data);
}

typedef struct prover_thread {
  cuzk_key *key;
  const bytes *wtns;
  int proofs;
} prover_thread;

static void *prove_some(void *argument) {
  prover_thread *t = argument;
  int i;
  for (i = 0; i < 4; ++i) {
    cuzk_proof *proof = NULL;
    if (cuzk_prove(t->key, t->wtns->data, t->wtns->size, NULL, &proof, NULL) == CUZK_OK) {
      ++t->proofs;
    }
    cuzk_proof_destroy(proof);
  }
  return NULL;
}

static void many_threads_one_key(const char *directory) {
  enum { kThreads = 16 };
  pthread_t threads[kThreads];
  prover_thread work[kThreads];
  cuzk_engine *engine = make_engine();
  cuzk_key *key = NULL;
  bytes zkey = read_bytes(directory, "circuit_final.zkey");
  bytes wtns = read_bytes(directory, "witness.wtns");
  int i;
  EXPECT(cuzk_key_open_memory(engine, zkey.data, zkey.size, 0, &key, NULL) == CUZK_OK);
  for (i = 0; i < kThreads; ++i) {
    work[i].key = key;
    work[i].wtns = &wtns;
    work[i].proofs = 0;
    EXPECT(pthread_create(&threads[i], NULL, prove_some, &work[i]) == 0);
  }
  for (i = 0; i < kThreads; ++i) {
    pthread_join(threads[i], NULL);
    EXPECT(work[i].proofs == 4);
  }
  cuzk_key_destroy(key);
  cuzk_engine_destroy(engine);
  free(zkey.data);
  free(wtns.data);
}

int main(int argc, char **argv) {
  char bn[4096], bls[4096];
  if (argc != 2) return 2;
  path_of(bn, sizeof bn, argv[1], "bn128/edge");
  path_of(bls, sizeof bls, argv[1], "bls12381/edge");
  EXPECT(cuzk_abi_version() == CUZK_ABI_VERSION);
  EXPECT(strlen(cuzk_version()) >= 5);
  prove_and_verify(bn, "bn128");
  prove_and_verify(bls, "bls12381");
  mistakes(bn, bls);
  progress_and_cancel(bn);
  file_replaced(bn);
  many_threads_one_key(bn);
  printf("%d failures\n", failures);
  return failures ? 1 : 0;
}
