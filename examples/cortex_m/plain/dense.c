/* programs/dense.te as plain loops: what the tuned kernel is compared with. */
#include <stdint.h>

int32_t kernel(const int8_t *I, const int8_t *W, const int32_t *B, int8_t *O) {
  for (int c = 0; c < 144; c++) {
    int32_t sum = B[c];
    for (int k = 0; k < 250; k++) sum += I[k] * W[c * 250 + k];
    int32_t scaled = (sum + 1024) >> 11;
    O[c] = (int8_t)(scaled < -128 ? -128 : scaled > 127 ? 127 : scaled);
  }
  return 0;
}
