/* programs/conv.te as plain loops: what the tuned kernel is compared with. */
#include <stdint.h>

int32_t kernel(const int8_t *I, const int8_t *W, const int32_t *B, int8_t *O) {
  for (int y = 0; y < 25; y++)
    for (int x = 0; x < 5; x++)
      for (int c = 0; c < 64; c++) {
        int32_t sum = B[c];
        for (int r = 0; r < 10; r++)
          for (int s = 0; s < 4; s++) sum += I[(2 * y + r) * 12 + 2 * x + s] * W[(c * 10 + r) * 4 + s];
        int32_t scaled = (sum + 256) >> 9;
        O[(y * 5 + x) * 64 + c] = (int8_t)(scaled < -128 ? -128 : scaled > 127 ? 127 : scaled);
      }
  return 0;
}
