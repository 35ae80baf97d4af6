/* Source-compatible with the function of rapidsnark's verifier.h, in libcuzk. */
#ifndef CUZK_RAPIDSNARK_VERIFIER_H
#define CUZK_RAPIDSNARK_VERIFIER_H

#ifdef __cplusplus
extern "C" {
#endif

#define VERIFIER_VALID_PROOF 0x0
#define VERIFIER_INVALID_PROOF 0x1
#define VERIFIER_ERROR 0x2

/* Three NUL-terminated JSON texts. VERIFIER_INVALID_PROOF: the proof does not hold, or a point of
 * it is none. VERIFIER_ERROR: malformed texts, another number of inputs than the key has, or a key
 * under which proofs can be forged (CUZK_ALLOW_INSECURE_KEY=1 in the environment lets it pass). */
int groth16_verify(const char* proof, const char* inputs, const char* verification_key,
                   char* error_msg, unsigned long error_msg_maxsize);

#ifdef __cplusplus
}
#endif

#endif
