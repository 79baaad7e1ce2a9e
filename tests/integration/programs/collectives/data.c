// SPDX-License-Identifier: BSD-3-Clause
// Shapes and buffers: ints laid out by datatypes with gaps, and what must not be touched around them.
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { untouched = 0xA5, margin_bytes = 128 };

Shape shapes[shape_count];

static void define(int index, const char* name, MPI_Datatype type, int ints, const MPI_Aint* positions,
                   MPI_Aint low, MPI_Aint high, MPI_Aint extent) {
  Shape* shape = &shapes[index];
  shape->name = name;
  shape->type = type;
  shape->ints = ints;
  memcpy(shape->positions, positions, (size_t)ints * sizeof *positions);
  shape->low = low;
  shape->high = high;
  shape->extent = extent;
  if (index > 0) MPI_Type_commit(&shape->type);
}

static void make_indexed(void) {
  const int lengths[] = {2, 1, 1};
  const int displacements[] = {3, 0, 6};
  const MPI_Aint positions[] = {12, 16, 0, 24};
  MPI_Datatype type;
  MPI_Type_indexed(3, lengths, displacements, MPI_INT, &type);
  define(3, "indexed", type, 4, positions, 0, 28, 28);
}

static void make_struct(void) {
  const int lengths[] = {1, 2, 1};
  const MPI_Aint displacements[] = {8, 20, 0};
  const MPI_Datatype types[] = {MPI_INT, MPI_INT, MPI_INT};
  const MPI_Aint positions[] = {8, 20, 24, 0};
  MPI_Datatype type;
  MPI_Type_create_struct(3, lengths, displacements, types, &type);
  define(4, "struct", type, 4, positions, 0, 28, 28);
}

static void make_resized(void) {
  const MPI_Aint displacements[] = {-8, 4};
  MPI_Datatype pair, type;
  MPI_Type_create_hindexed_block(2, 1, displacements, MPI_INT, &pair);
  MPI_Type_create_resized(pair, -12, 24, &type);
  MPI_Type_free(&pair);
  define(5, "resized with negative lower bound", type, 2, displacements, -8, 8, 24);
}

void make_shapes(void) {
  const MPI_Aint consecutive[] = {0, 4, 8, 12};
  const MPI_Aint with_gap[] = {0, 4, 12, 16};
  MPI_Datatype type;
  define(0, "int", MPI_INT, 1, consecutive, 0, 4, 4);
  MPI_Type_contiguous(3, MPI_INT, &type);
  define(1, "contiguous", type, 3, consecutive, 0, 12, 12);
  MPI_Type_vector(2, 2, 3, MPI_INT, &type);
  define(2, "vector", type, 4, with_gap, 0, 20, 20);
  make_indexed();
  make_struct();
  make_resized();
}

void free_shapes(void) {
  for (int i = 1; i < shape_count; ++i) MPI_Type_free(&shapes[i].type);
}

int value_of(uint32_t seed, int source, int destination, long index) {
  return (int)(hash(seed, (uint32_t)source, (uint32_t)destination, (uint32_t)index) & 0xFFFFFFu);
}

Buffer make_buffer(const Shape* shape, long elements) {
  Buffer buffer;
  const long units = elements / shape->ints;
  buffer.shape = shape;
  buffer.elements = elements;
  buffer.bytes = 2 * margin_bytes + (size_t)(units * shape->extent + shape->high - shape->low);
  buffer.memory = (unsigned char*)malloc(buffer.bytes);
  if (buffer.memory == NULL) MPI_Abort(MPI_COMM_WORLD, 4);
  memset(buffer.memory, untouched, buffer.bytes);
  buffer.origin = buffer.memory + margin_bytes - shape->low;
  return buffer;
}

void free_buffer(Buffer* buffer) {
  free(buffer->memory);
  buffer->memory = NULL;
}

static unsigned char* element(const Buffer* buffer, long index) {
  const Shape* shape = buffer->shape;
  return buffer->origin + index / shape->ints * shape->extent + shape->positions[index % shape->ints];
}

int read_element(const Buffer* buffer, long index) {
  int value;
  memcpy(&value, element(buffer, index), sizeof value);
  return value;
}

int is_untouched(const Buffer* buffer, long index) {
  int as_made;
  memset(&as_made, untouched, sizeof as_made);
  return read_element(buffer, index) == as_made;
}

void write_element(Buffer* buffer, long index, int value) {
  memcpy(element(buffer, index), &value, sizeof value);
}

void check_gaps(Buffer* buffer, const char* what) {
  for (long i = 0; i < buffer->elements; ++i) memset(element(buffer, i), untouched, sizeof(int));
  for (size_t i = 0; i < buffer->bytes; ++i) {
    if (buffer->memory[i] == untouched) continue;
    check_failed("%s: byte %ld of a buffer of %ld %s was written, though no element lies there", what,
                 (long)i - (long)(buffer->origin - buffer->memory), buffer->elements / buffer->shape->ints,
                 buffer->shape->name);
    return;
  }
  check_passed();
}
