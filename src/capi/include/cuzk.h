/* libcuzk: Groth16 proofs of circom circuits, from C (C99) and from every language that calls C.
 *
 *   cuzk_engine   threads and a memory budget, shared by all that it works on
 *   cuzk_key      a .zkey, read and checked
 *   cuzk_proof    a proof that was verified before it was handed out
 *
 * Errors     Every call that can fail returns a cuzk_code and, when `error` is not NULL, leaves a
 *            sentence there that names what was expected and what was found. No call throws, exits
 *            or writes to a terminal. On failure the out-pointer is set to NULL.
 * Threads    An engine and a key may be used by several threads at once, also for several proofs at
 *            once; destroying one while a call uses it is the caller's mistake. A proof belongs to
 *            one thread at a time. cuzk_cancel_request may be called from any thread.
 * Lifetime   A key keeps what it needs of its engine alive, a proof needs nothing: objects may be
 *            destroyed in any order. Destroying NULL does nothing.
 * Strings    UTF-8, NUL-terminated, owned by the object that returns them.
 * Witnesses  are never logged and never written to a disk. */
#ifndef CUZK_H
#define CUZK_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define CUZK_API __attribute__((visibility("default")))
#else
#define CUZK_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Grows by one when something is added, never for anything else: nothing is ever taken away. */
#define CUZK_ABI_VERSION 1

/* The numbers are the exit codes of the program `cuzk`. */
typedef enum cuzk_code {
  CUZK_OK = 0,
  CUZK_PROOF_INVALID = 1,    /* well-formed, and does not hold; the error says why */
  CUZK_INVALID_ARGUMENT = 2, /* a NULL or an option that makes no sense */
  CUZK_BAD_INPUT = 3,    /* bytes that are not what they should be, or a file that cannot be read */
  CUZK_MISMATCH = 4,     /* key, witness and public inputs do not belong together, or the
                            witness does not satisfy the circuit */
  CUZK_RESOURCES = 5,    /* memory budget, system memory, device */
  CUZK_INTERNAL = 6,     /* a self-check failed: no proof left the library */
  CUZK_INSECURE_KEY = 7, /* whoever made this key can forge proofs under it */
  CUZK_CANCELLED = 8
} cuzk_code;

typedef struct cuzk_error {
  cuzk_code code;
  char message[1020]; /* NUL-terminated; a longer sentence is cut */
} cuzk_error;

typedef struct cuzk_engine cuzk_engine;
typedef struct cuzk_key cuzk_key;
typedef struct cuzk_proof cuzk_proof;
typedef struct cuzk_cancel cuzk_cancel;

/* "0.1.0", and CUZK_ABI_VERSION of the library that is loaded. */
CUZK_API const char* cuzk_version(void);
CUZK_API int cuzk_abi_version(void);

/* --- engine ------------------------------------------------------------------------------- */

typedef struct cuzk_engine_options {
  size_t struct_size;    /* sizeof(cuzk_engine_options) */
  unsigned threads;      /* 0: every CPU that this process may use */
  uint64_t memory_bytes; /* 0: what machine and cgroup allow */
} cuzk_engine_options;

/* `options` may be NULL. */
CUZK_API cuzk_code cuzk_engine_create(const cuzk_engine_options* options, cuzk_engine** engine,
                                      cuzk_error* error);
CUZK_API void cuzk_engine_destroy(cuzk_engine* engine);

/* --- keys --------------------------------------------------------------------------------- */

enum {
  /* Accept a key under which anybody, or whoever made it, can forge proofs (gamma = delta, no
   * contribution): for development. */
  CUZK_KEY_ALLOW_INSECURE = 1u << 0,
  /* Keep the points in memory for the next proof, rather than read them anew for each. Faster for
   * many proofs, more memory in between. */
  CUZK_KEY_RESIDENT = 1u << 1
};

/* The file stays mapped as it was: replacing it on disk changes nothing for this key. */
CUZK_API cuzk_code cuzk_key_open_file(cuzk_engine* engine, const char* zkey_path, unsigned flags,
                                      cuzk_key** key, cuzk_error* error);
/* The bytes are borrowed and must not change until the key is destroyed. */
CUZK_API cuzk_code cuzk_key_open_memory(cuzk_engine* engine, const void* zkey, size_t zkey_size,
                                        unsigned flags, cuzk_key** key, cuzk_error* error);
CUZK_API void cuzk_key_destroy(cuzk_key* key);

typedef struct cuzk_key_info {
  size_t struct_size; /* set by the caller to sizeof(cuzk_key_info) */
  const char* curve;  /* "bn128" or "bls12381", static */
  uint32_t num_public;
  uint32_t num_wires; /* of a witness, the constant one included */
  uint32_t domain_size;
} cuzk_key_info;

CUZK_API cuzk_code cuzk_key_get_info(const cuzk_key* key, cuzk_key_info* info, cuzk_error* error);
/* verification_key.json as snarkjs writes it. The string lives as long as the key. */
CUZK_API cuzk_code cuzk_key_verification_key(cuzk_key* key, const char** json, cuzk_error* error);

/* --- proofs ------------------------------------------------------------------------------- */

/* Called from the thread that proves and from its workers, never two at once, when a stage begins
 * (fraction 0) and ends (1). Stages: read_key, matvec, ntt, h_msm, ..., verify. */
typedef void (*cuzk_progress)(void* user, const char* stage, int ended);

/* A request to stop, which several calls may watch. A call that was asked to stop returns
 * CUZK_CANCELLED soon. */
CUZK_API cuzk_cancel* cuzk_cancel_create(void);
CUZK_API void cuzk_cancel_request(cuzk_cancel* cancel);
CUZK_API void cuzk_cancel_destroy(cuzk_cancel* cancel);

typedef struct cuzk_prove_options {
  size_t struct_size;     /* sizeof(cuzk_prove_options) */
  cuzk_cancel* cancel;    /* may be NULL; must outlive the call */
  cuzk_progress progress; /* may be NULL */
  void* progress_user;
} cuzk_prove_options;

/* `wtns`: the bytes of a .wtns file. `options` may be NULL. The proof was verified. */
CUZK_API cuzk_code cuzk_prove(cuzk_key* key, const void* wtns, size_t wtns_size,
                              const cuzk_prove_options* options, cuzk_proof** proof,
                              cuzk_error* error);
/* proof.json and public.json, byte for byte as snarkjs writes them. */
CUZK_API const char* cuzk_proof_json(const cuzk_proof* proof);
CUZK_API const char* cuzk_proof_public_json(const cuzk_proof* proof);
/* {"ntt": 12.3, ...}: milliseconds of each stage, and "peak_reserved_bytes". */
CUZK_API const char* cuzk_proof_timings_json(const cuzk_proof* proof);
CUZK_API void cuzk_proof_destroy(cuzk_proof* proof);

/* Three JSON texts in snarkjs' form, NUL-terminated. CUZK_OK: the proof holds. CUZK_PROOF_INVALID:
 * it does not, `error` says why. Anything else: the question could not be asked.
 * `flags`: CUZK_KEY_ALLOW_INSECURE or 0. */
CUZK_API cuzk_code cuzk_verify(cuzk_engine* engine, const char* verification_key_json,
                               const char* public_json, const char* proof_json, unsigned flags,
                               cuzk_error* error);

#ifdef __cplusplus
}
#endif

#endif
