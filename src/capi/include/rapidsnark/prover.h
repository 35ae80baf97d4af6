/* Source-compatible with the functions of rapidsnark's prover.h, in libcuzk: programs and bindings
 * written for that library are linked with -lcuzk instead.
 *
 * What differs: both curves; a witness that does not satisfy the circuit, or a key under which
 * proofs can be forged, is an error instead of a worthless proof (CUZK_ALLOW_INSECURE_KEY=1 in the
 * environment lets such keys pass, for tests); a prover object owns its file, and may be shared by
 * threads.
 *
 * Error messages: a sentence, cut to error_msg_maxsize with its NUL. error_msg may be NULL. */
#ifndef CUZK_RAPIDSNARK_PROVER_H
#define CUZK_RAPIDSNARK_PROVER_H

#ifdef __cplusplus
extern "C" {
#endif

#define PROVER_OK 0x0
#define PROVER_ERROR 0x1
#define PROVER_ERROR_SHORT_BUFFER 0x2
#define PROVER_INVALID_WITNESS_LENGTH 0x3

/* Bytes, NUL included, that public signals of this key may take as JSON. */
int groth16_public_size_for_zkey_buf(const void* zkey_buffer, unsigned long long zkey_size,
                                     unsigned long long* public_size, char* error_msg,
                                     unsigned long long error_msg_maxsize);
int groth16_public_size_for_zkey_file(const char* zkey_fname, unsigned long long* public_size,
                                      char* error_msg, unsigned long long error_msg_maxsize);

/* Bytes, NUL included, that a proof may take as JSON, on either curve. */
void groth16_proof_size(unsigned long long* proof_size);

/* zkey_buffer is borrowed until groth16_prover_destroy. */
int groth16_prover_create(void** prover_object, const void* zkey_buffer,
                          unsigned long long zkey_size, char* error_msg,
                          unsigned long long error_msg_maxsize);
int groth16_prover_create_zkey_file(void** prover_object, const char* zkey_file_path,
                                    char* error_msg, unsigned long long error_msg_maxsize);

/* In: *proof_size and *public_size are the buffers' sizes. PROVER_OK: the texts with their NUL are
 * there, the sizes are theirs without it. PROVER_ERROR_SHORT_BUFFER: nothing was written, the sizes
 * are what is needed, NUL included. PROVER_INVALID_WITNESS_LENGTH: the witness is for another
 * circuit. */
int groth16_prover_prove(void* prover_object, const void* wtns_buffer, unsigned long long wtns_size,
                         char* proof_buffer, unsigned long long* proof_size, char* public_buffer,
                         unsigned long long* public_size, char* error_msg,
                         unsigned long long error_msg_maxsize);

/* Destroying NULL does nothing. */
void groth16_prover_destroy(void* prover_object);

/* create, prove and destroy in one call. */
int groth16_prover(const void* zkey_buffer, unsigned long long zkey_size, const void* wtns_buffer,
                   unsigned long long wtns_size, char* proof_buffer, unsigned long long* proof_size,
                   char* public_buffer, unsigned long long* public_size, char* error_msg,
                   unsigned long long error_msg_maxsize);
int groth16_prover_zkey_file(const char* zkey_file_path, const void* wtns_buffer,
                             unsigned long long wtns_size, char* proof_buffer,
                             unsigned long long* proof_size, char* public_buffer,
                             unsigned long long* public_size, char* error_msg,
                             unsigned long long error_msg_maxsize);

#ifdef __cplusplus
}
#endif

#endif
