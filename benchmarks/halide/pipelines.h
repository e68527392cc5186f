/* pipelines.h: programs written twice, as Tenon's text and as Halide's functions. */
#ifndef TENON_BENCHMARKS_HALIDE_PIPELINES_H
#define TENON_BENCHMARKS_HALIDE_PIPELINES_H

#include <Halide.h>

#include <functional>
#include <string>
#include <vector>

using images = std::vector<Halide::ImageParam>;

/* TEXT has parameters H and W. HALIDE gets an image for each of the program's inputs, in their order; its dimensions are
 * the tensor's from the last to the first. */
struct pipeline {
  std::string name, text;
  std::function<Halide::Func(images &)> halide;
};

std::vector<pipeline> stencil_pipelines();
std::vector<pipeline> row_pipelines();

#endif
