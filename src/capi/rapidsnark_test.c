/* The functions of rapidsnark's headers, called as its bindings call them. rapidsnark_test
 * DIRECTORY: testdata/circom. */
#include "rapidsnark/prover.h"
#include "rapidsnark/verifier.h"
#include "test_support.h"

#define MESSAGE 256

static void whole_way(const char *directory) {
  bytes zkey = read_bytes(directory, "circuit_final.zkey");
  bytes wtns = read_bytes(directory, "witness.wtns");
  bytes vk = read_bytes(directory, "verification_key.json");
  char message[MESSAGE] = "";
  char path[4096];
  unsigned long long proof_size = 0, public_size = 0, from_file = 0, exact_proof, exact_public;
  char *proof, *signals;
  void *prover = NULL;
  int i;
  path_of(path, sizeof path, directory, "circuit_final.zkey");

  groth16_proof_size(&proof_size);
  EXPECT(groth16_public_size_for_zkey_buf(zkey.data, zkey.size, &public_size, message, MESSAGE) ==
         PROVER_OK);
  EXPECT(groth16_public_size_for_zkey_file(path, &from_file, message, MESSAGE) == PROVER_OK);
  EXPECT(public_size == 82 + 4 && from_file == public_size);
  proof = malloc(proof_size);
  signals = malloc(public_size);

  EXPECT(groth16_prover_create_zkey_file(&prover, path, message, MESSAGE) == PROVER_OK);
  for (i = 0; i < 3; ++i) {
    exact_proof = proof_size;
    exact_public = public_size;
    EXPECT(groth16_prover_prove(prover, wtns.data, wtns.size, proof, &exact_proof, signals,
                                &exact_public, message, MESSAGE) == PROVER_OK);
    EXPECT(exact_proof == strlen(proof) && exact_public == strlen(signals));
    EXPECT(proof[0] == '{' && proof[exact_proof - 1] == '}');
    EXPECT(groth16_verify(proof, signals, vk.data, message, MESSAGE) == VERIFIER_VALID_PROOF);
  }
  EXPECT(groth16_verify(proof, "[\"5\"]", vk.data, message, MESSAGE) == VERIFIER_INVALID_PROOF);
  EXPECT(strlen(message) > 10);
  EXPECT(groth16_verify("{", signals, vk.data, message, MESSAGE) == VERIFIER_ERROR);
  EXPECT(groth16_verify(NULL, signals, vk.data, NULL, 0) == VERIFIER_ERROR);

  /* A buffer of one byte: the sizes come back, nothing is written. */
  exact_proof = 1;
  exact_public = 1;
  proof[0] = 'x';
  EXPECT(groth16_prover_prove(prover, wtns.data, wtns.size, proof, &exact_proof, signals,
                              &exact_public, message, MESSAGE) == PROVER_ERROR_SHORT_BUFFER);
  EXPECT(proof[0] == 'x' && exact_proof > 400 && exact_proof <= proof_size);
  EXPECT(exact_public == strlen(signals) + 1);
  /* The sum of public texts is the same each time: its exact size is enough, one less is not. */
  {
    unsigned long long full = proof_size, exact = strlen(signals) + 1, less = strlen(signals);
    EXPECT(groth16_prover_prove(prover, wtns.data, wtns.size, proof, &full, signals, &exact,
                                message, MESSAGE) == PROVER_OK);
    full = proof_size;
    EXPECT(groth16_prover_prove(prover, wtns.data, wtns.size, proof, &full, signals, &less, message,
                                MESSAGE) == PROVER_ERROR_SHORT_BUFFER);
  }
  groth16_prover_destroy(prover);

  exact_proof = proof_size;
  exact_public = public_size;
  EXPECT(groth16_prover(zkey.data, zkey.size, wtns.data, wtns.size, proof, &exact_proof, signals,
                        &exact_public, message, MESSAGE) == PROVER_OK);
  exact_proof = proof_size;
  exact_public = public_size;
  EXPECT(groth16_prover_zkey_file(path, wtns.data, wtns.size, proof, &exact_proof, signals,
                                  &exact_public, message, MESSAGE) == PROVER_OK);
  EXPECT(groth16_verify(proof, signals, vk.data, message, MESSAGE) == VERIFIER_VALID_PROOF);
  free(proof);
  free(signals);
  free(zkey.data);
  free(wtns.data);
  free(vk.data);
}

static void mistakes(const char *directory) {
  bytes zkey = read_bytes(directory, "circuit_final.zkey");
  bytes wtns = read_bytes(directory, "witness.wtns");
  char message[MESSAGE];
  char proof[2048], signals[256];
  unsigned long long proof_size = sizeof proof, public_size = sizeof signals;
  void *prover = NULL;

  EXPECT(groth16_prover_create(NULL, zkey.data, zkey.size, message, MESSAGE) == PROVER_ERROR);
  EXPECT(groth16_prover_create(&prover, NULL, 0, message, MESSAGE) == PROVER_ERROR);
  EXPECT(groth16_prover_create(&prover, zkey.data, 100, message, MESSAGE) == PROVER_ERROR);
  EXPECT(prover == NULL);
  EXPECT(groth16_prover_create(&prover, zkey.data, zkey.size, NULL, 0) == PROVER_OK);
  EXPECT(groth16_prover_prove(NULL, wtns.data, wtns.size, proof, &proof_size, signals, &public_size,
                              message, MESSAGE) == PROVER_ERROR);
  EXPECT(groth16_prover_prove(prover, NULL, 0, proof, &proof_size, signals, &public_size, message,
                              MESSAGE) == PROVER_ERROR);
  EXPECT(groth16_prover_prove(prover, wtns.data, wtns.size, NULL, &proof_size, signals,
                              &public_size, message, MESSAGE) == PROVER_ERROR);
  EXPECT(groth16_prover_prove(prover, wtns.data, wtns.size, proof, NULL, signals, &public_size,
                              message, MESSAGE) == PROVER_ERROR);
  EXPECT(groth16_prover_prove(prover, wtns.data, wtns.size, proof, &proof_size, NULL, &public_size,
                              message, MESSAGE) == PROVER_ERROR);
  EXPECT(groth16_prover_prove(prover, wtns.data, wtns.size, proof, &proof_size, signals, NULL,
                              message, MESSAGE) == PROVER_ERROR);
  /* A message is cut to its buffer, with its NUL. */
  message[8] = '#';
  EXPECT(groth16_prover_prove(prover, wtns.data, 10, proof, &proof_size, signals, &public_size,
                              message, 8) == PROVER_ERROR);
  EXPECT(strlen(message) == 7 && message[8] == '#');
  /* One value less, in header and length: a witness of another circuit. */
  {
    bytes shorter = {malloc(wtns.size), wtns.size - 32};
    memcpy(shorter.data, wtns.data, shorter.size);
    EXPECT((unsigned char)shorter.data[60] == 19); /* nWitness, after magic and header */
    shorter.data[60] = 18;
    shorter.data[68] = (char)(shorter.data[68] - 32); /* length of the section of values */
    EXPECT(groth16_prover_prove(prover, shorter.data, shorter.size, proof, &proof_size, signals,
                                &public_size, message, MESSAGE) == PROVER_INVALID_WITNESS_LENGTH);
    EXPECT(strstr(message, "18") != NULL && strstr(message, "19") != NULL);
    free(shorter.data);
  }
  groth16_prover_destroy(prover);
  groth16_prover_destroy(NULL);
  free(zkey.data);
  free(wtns.data);
}

int main(int argc, char **argv) {
  char bn[4096], bls[4096];
  if (argc != 2) return 2;
  path_of(bn, sizeof bn, argv[1], "bn128/edge");
  path_of(bls, sizeof bls, argv[1], "bls12381/edge");
  whole_way(bn);
  whole_way(bls);
  mistakes(bn);
  printf("%d failures\n", failures);
  return failures ? 1 : 0;
}
