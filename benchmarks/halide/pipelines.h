/* pipelines.h: programs written twice, as Tenon's text and as Halide's functions. */
#ifndef TENON_BENCHMARKS_HALIDE_PIPELINES_H
#define TENON_BENCHMARKS_HALIDE_PIPELINES_H

#include <Halide.h>

#include <functional>
#include <string>
#include <vector>

using images = std::vector<Halide::ImageParam>;

/* One program for both sides. TEXT is Tenon's, with parameters H and W. HALIDE builds Halide's from an image
 * for each of the program's inputs, in their order; an image has the tensor's dimensions from the last to the
 * first. */
struct pipeline {
  std::string name, text;
  std::function<Halide::Func(images &)> halide;
};

/* stencils.cc and rows.cc. */
std::vector<pipeline> stencil_pipelines();
std::vector<pipeline> row_pipelines();

#endif
