/* What a CUDA graph of this process gains from programmatic edges.
 *
 * A graph is attached: it is cloned, and the clone is what is edited, run and timed; the graph itself
 * is only read. Outputs are compared bit by bit with what the original writes, buffers are poisoned
 * before every run, and a reset restores what a run changes and the next one reads. Everything runs
 * on a stream of this library's own, in the device's primary context.
 *
 * Functions return 0, or a code of the kind of failure: 1 failed, 2 asked for what cannot be, 3 no
 * suitable GPU, 4 wrong results, 6 refused, 70 an error of this library, 130 stopped by the caller.
 * pdl_lab_error() then says what could not be done, why, and what to do about it.
 *
 * Text is UTF-8 and ends with a zero byte. What a function hands out through `char**` is freed with
 * pdl_lab_free. JSON is that of the Rust types `attach::Listing`, `Report`, `Race` and `Options`.
 *
 * A handle may be used from any thread, by one at a time. */
#ifndef PDL_LAB_H
#define PDL_LAB_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this header; pdl_lab_abi() returns the library's. */
#define PDL_LAB_ABI 1

/* An attached graph. */
typedef struct pdl_lab_graph pdl_lab_graph;

/* Device memory with a name for messages; `name` may be null. */
typedef struct {
  const char* name;
  uint64_t address;
  uint64_t bytes;
} pdl_lab_region;

/* Machine code that the caller has: a cubin, or any bytes that hold uncompressed ones. `function` is
 * the CUfunction or CUkernel that was loaded from it; null: kernels are found by name. */
typedef struct {
  const void* function;
  const char* source;
  const void* bytes;
  uint64_t size;
} pdl_lab_code;

/* Restores what a run changed and the next one reads; called after the poison and before every run.
 * Work should go to `stream` (cudaStream_t); what goes elsewhere is waited for. Not 0: it failed. */
typedef int32_t (*pdl_lab_reset)(void* user, void* stream);

/* Hears how far a run is. Not 0: stop. */
typedef int32_t (*pdl_lab_progress)(void* user, const char* step, uint32_t done, uint32_t of);

/* What pdl_lab_attach needs. Zeros are values: no buffers, no code, no reset. */
typedef struct {
  void* graph; /* cudaGraph_t or CUgraph, live during the call; its kernels and memory for as long as
                  the handle */
  const pdl_lab_region* outputs; /* compared; at least one */
  uint64_t output_count;
  const pdl_lab_region* buffers; /* poisoned, and recorded by the race check */
  uint64_t buffer_count;
  const pdl_lab_code* codes;
  uint64_t code_count;
  pdl_lab_reset reset; /* or null */
  void* user;          /* handed to `reset` */
  uint32_t ignore_process; /* 1: do not look for machine code in the memory of this process */
  uint32_t reserved;
} pdl_lab_attach_args;

int32_t pdl_lab_abi(void);
/* Version and revision of the library; static. */
const char* pdl_lab_version(void);
/* What the last failed call of this thread has to say; valid until its next call. */
const char* pdl_lab_error(void);
void pdl_lab_free(char* text);

/* Clones and lists a graph; nothing of it is run. */
int32_t pdl_lab_attach(const pdl_lab_attach_args* args, pdl_lab_graph** graph);
/* Null is allowed. The caller's graph is not touched. */
void pdl_lab_detach(pdl_lab_graph* graph);

/* Nodes, edges, and what may be done with each edge, as JSON. */
int32_t pdl_lab_list(pdl_lab_graph* graph, char** json);
/* The same of a graph that is not attached, and need not be one that CUDA clones. */
int32_t pdl_lab_list_graph(void* graph, const pdl_lab_code* codes, uint64_t code_count, char** json);
/* Runs the graph with `edges` programmatic and compares its outputs: {bytes, wrong_bytes, region,
 * offset}. Whether that is safe is not asked. */
int32_t pdl_lab_verify(pdl_lab_graph* graph, const uint32_t* edges, uint64_t edge_count, char** json);
/* Checks one edge for races. `options` is JSON, or null for the defaults. */
int32_t pdl_lab_race(pdl_lab_graph* graph, uint32_t edge, const char* options, char** json);
/* Which edges are worth it: race checks, then times; the report as JSON. */
int32_t pdl_lab_run(pdl_lab_graph* graph, const char* options, pdl_lab_progress progress, void* user,
                    char** json);
/* What the last run was made from, every sample included, as JSON for pdl_lab_save. */
int32_t pdl_lab_trials(pdl_lab_graph* graph, char** json);

/* Makes `edges` of the caller's own graph depend as `dependency` says ("programmatic" or
 * "launch-completion"; null: programmatic). It must be the graph that was attached, unchanged.
 * Executables made from it before stay as they are: instantiate it again. */
int32_t pdl_lab_apply(pdl_lab_graph* attached, void* graph, const uint32_t* edges,
                      uint64_t edge_count, const char* dependency);

/* The default options as JSON. */
int32_t pdl_lab_options(char** json);
/* A listing or a report, as JSON, as a table for people. Needs no GPU. */
int32_t pdl_lab_table(const char* json, char** text);
/* A report as a page that needs no network. Needs no GPU. */
int32_t pdl_lab_page(const char* json, char** html);
/* Writes trials as a run directory, which must be new or empty: raw samples, and what is derived of
 * them. `pdl report` makes it again, `pdl compare` reads it. Needs no GPU. */
int32_t pdl_lab_save(const char* trials, const char* directory);
/* The lines to change where the graph is captured. Needs no GPU. */
int32_t pdl_lab_patch(const char* json, char** text);

#ifdef __cplusplus
}
#endif
#endif
