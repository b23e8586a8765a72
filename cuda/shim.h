/* The whole C ABI between Rust and CUDA. Plain C, read by bindgen and by people.
 *
 * A launch function fills a launch configuration, picks a kernel and enqueues it. It returns the
 * cudaError_t of the call. It never allocates, synchronises, prints or keeps state. Streams, graphs
 * and device pointers are the caller's. */
#ifndef PDL_SHIM_H
#define PDL_SHIM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Whether the launch carries the programmatic stream serialization attribute. */
typedef enum { PDL_DEPENDENCY_FULL = 0, PDL_DEPENDENCY_PROGRAMMATIC = 1 } pdl_dependency;

/* Where a block triggers. NATIVE has neither trigger nor sync. */
typedef enum {
  PDL_TRIGGER_NATIVE = 0,
  PDL_TRIGGER_IMPLICIT = 1,
  PDL_TRIGGER_AT_ENTRY = 2,
  PDL_TRIGGER_AFTER_SYNC = 3,
  PDL_TRIGGER_IN_BODY = 4,
  PDL_TRIGGER_BEFORE_STORE = 5,
  PDL_TRIGGER_AFTER = 6
} pdl_trigger;

/* STREAM has twice as many loads in flight a thread as STREAM_NARROW, whose registers allow blocks of
 * more than 512 threads. NONE passes the primary's value on, by one thread. */
typedef enum {
  PDL_BODY_FMA = 0,
  PDL_BODY_STREAM = 1,
  PDL_BODY_STREAM_NARROW = 2,
  PDL_BODY_SPIN = 3,
  PDL_BODY_NONE = 4
} pdl_body;

typedef enum {
  PDL_PREAMBLE_NONE = 0,
  PDL_PREAMBLE_ALU = 1,
  PDL_PREAMBLE_SPIN = 2,
  PDL_PREAMBLE_PREFETCH_L2 = 3,
  PDL_PREAMBLE_PREFETCH_SMEM = 4
} pdl_preamble;

typedef enum {
  PDL_FAMILY_CHAIN = 0,
  PDL_FAMILY_FLAGS = 1,
  PDL_FAMILY_PERSISTENT = 2,
  PDL_FAMILY_CHECK = 3
} pdl_family;

/* How a kernel is launched. One-dimensional; cluster_blocks 1 launches without clusters. */
typedef struct {
  uint32_t grid_blocks;
  uint32_t block_threads;
  uint32_t shared_bytes;
  uint32_t cluster_blocks;
  uint32_t dependency; /* pdl_dependency */
} pdl_launch;

/* Which kernel: `trigger` and `body` are pdl_trigger and pdl_body, `stamped` is 0 or 1. Of the check
 * family `body` is a pdl_check_kernel and the others are 0. */
typedef struct {
  uint32_t family; /* pdl_family */
  uint32_t trigger;
  uint32_t body;
  uint32_t stamped;
} pdl_kernel;

/* Stamps of one block, 32 bytes: a time on the global timer, and four moments after it in ns.
 * `trigger_ns` is UINT32_MAX where the block never triggers. */
typedef struct {
  uint64_t begin_ns;
  uint32_t trigger_ns;
  uint32_t arrive_ns;
  uint32_t release_ns;
  uint32_t end_ns;
  uint32_t sm;
  uint32_t body_cycles;
} pdl_stamp;

/* What one node of a chain does. Work is per block: fused multiply-adds a thread, 16-byte vectors of
 * the region, or ns. A body is `body_steps` steps (of spin: ns); the trigger comes before its step
 * `trigger_step`. */
typedef struct {
  const uint64_t* previous; /* grid_blocks values of the primary */
  uint64_t* values;         /* grid_blocks values of this node */
  const void* region;       /* this node's part of the stream buffer, 16-byte vectors */
  pdl_stamp* stamps;        /* grid_blocks, stamped kernels only */
  uint64_t body_units;
  uint64_t body_steps;
  uint64_t trigger_step;
  uint64_t preamble_units;
  uint32_t preamble; /* pdl_preamble */
  uint32_t node;
  uint32_t trigger_by_block; /* 1: a block barrier precedes the trigger */
  float one;                 /* 1 and 0, not known to the compiler */
  float zero;
  uint32_t reserved;
} pdl_chain_args;

/* The flags that stand in for the sync: one a block and node. */
typedef struct {
  const uint32_t* previous;
  uint32_t* flags;
} pdl_flags;

/* The counter of a grid barrier, and the nodes that one persistent launch runs: node i reads the
 * region at vector i * node_vectors % region_modulus of the stream buffer. */
typedef struct {
  uint32_t* arrived;
  const void* stream_buffer;
  uint64_t node_vectors;
  uint64_t region_modulus;
  uint32_t nodes;
  uint32_t reserved;
} pdl_persistent;

/* Kernels of the race check: three correct ones, and mutants of each. */
typedef enum {
  PDL_CHECK_CORRECT = 0,
  PDL_CHECK_NO_SYNC = 1,
  PDL_CHECK_LOAD_ABOVE_SYNC = 2,
  PDL_CHECK_SYNC_IN_ONE_WARP = 3,
  PDL_CHECK_EARLY_RETURN = 4,
  PDL_CHECK_STORE_ABOVE_SYNC = 5,
  PDL_CHECK_LOOP = 6, /* correct: the sync inside a loop */
  PDL_CHECK_LOOP_RESTRICT = 7,
  PDL_CHECK_THREE_SLOTS = 8, /* correct: stages in a ring before the sync */
  PDL_CHECK_TWO_SLOTS = 9,
  PDL_CHECK_FAULT = 10,
  PDL_CHECK_HANG = 11
} pdl_check_kernel;

/* What a row holds before its node writes it. */
#define PDL_CHECK_POISON 0xDEADDEADDEADDEADull
/* Most nodes of one repetition, and entries of the table that sleeps are drawn from. */
#define PDL_CHECK_NODES 16
#define PDL_CHECK_SLEEPS 64

/* When a block of a check node began and ended, on the global timer; zeros: it has not ended. */
typedef struct {
  uint64_t begin_ns;
  uint64_t end_ns;
} pdl_check_stamp;

/* One node of a repetition. A row is one value a thread of the grid. */
typedef struct {
  const uint64_t* repetition; /* counts the repetitions that were judged */
  uint64_t input_stride;      /* values from one round's input to the next's; 0: the same row */
  const uint64_t* late_input; /* the input again, for the read after the sleep */
  uint64_t* output;
  uint64_t* first; /* row of what the first read found */
  uint64_t* late;  /* row of what the read after the sleep found */
  uint64_t* stage; /* rows of the staging ring */
  pdl_check_stamp* stamps; /* one a block */
  uint64_t seed;
  uint32_t sleeps_ns[PDL_CHECK_SLEEPS];
  uint32_t node;
  uint32_t trigger; /* pdl_trigger: at entry, after the sync, or implicit */
  uint32_t rounds;
  uint32_t block_shift;   /* block b reads what block b + shift of its primary wrote */
  uint32_t active_blocks; /* the blocks after these have nothing to do */
  uint32_t steps;         /* of the loop around the sync: 1 */
  uint32_t clears;        /* 1: the node clears its output before it adds up */
  uint32_t reserved;
} pdl_check_args;

/* What the judge knows after the repetitions so far. */
typedef struct {
  uint64_t repetitions;
  uint64_t wrong;       /* repetitions with a wrong value */
  uint64_t mismatches;  /* wrong values */
  uint64_t co_resident; /* repetitions in which a node began before the node `reach` before it ended */
  uint64_t first_repetition; /* of the first wrong one, UINT64_MAX: none; then its lowest index */
  uint64_t first_index;
  uint64_t first_found;
  int64_t first_overlap_ns; /* longest overlap in that repetition; INT64_MIN: unknown */
  int64_t overlap_ns;       /* longest overlap of any repetition */
  uint64_t candidate;       /* of the repetition that is being judged, as the rest */
  uint64_t begin_ns[PDL_CHECK_NODES];
  uint64_t end_ns[PDL_CHECK_NODES];
  uint32_t ticket;
  uint32_t reserved;
} pdl_check_state;

/* What a repetition is judged by. */
typedef struct {
  pdl_check_state* state;
  uint64_t* records;        /* all rows, `count` values */
  const uint64_t* expected; /* the oracle's, `count` values a round */
  uint64_t count;
  pdl_check_stamp* stamps; /* grid_blocks a node */
  uint64_t margin_ns;      /* an overlap below this proves nothing */
  uint32_t nodes;
  uint32_t grid_blocks;
  uint32_t idle_nodes; /* a bit a node whose blocks leave no stamp */
  uint32_t reach;
  uint32_t rounds;
  uint32_t reserved;
} pdl_check_judge;

/* What is known of a kernel at a shape. */
typedef struct {
  int32_t ptx_version;
  int32_t binary_version;
  int32_t registers;
  int32_t local_bytes;
  int32_t shared_bytes;     /* static */
  int32_t max_threads;      /* a block */
  int32_t blocks_per_sm;    /* of this shape, at once */
  int32_t clusters;         /* of this shape, at once on the device; -1 without clusters */
  char name[256];           /* as the compiler mangled it */
} pdl_kernel_info;

/* One edge of a graph. */
typedef struct {
  uint32_t edge_type; /* cudaGraphDependencyType */
  uint32_t from_port;
} pdl_edge;

int32_t pdl_runtime_version(void);
const char* pdl_error_name(int32_t error);
const char* pdl_error_text(int32_t error);

/* Loads a kernel, lifts its shared-memory and cluster limits to what `launch` needs, and says what
 * is known of it. The only function that changes a kernel's attributes. */
int32_t pdl_prepare(const pdl_kernel* kernel, const pdl_launch* launch, pdl_kernel_info* info);

/* One node of a chain. */
int32_t pdl_launch_chain(void* stream, const pdl_launch* launch, const pdl_kernel* kernel,
                         const pdl_chain_args* args);
/* One node that waits for flags in place of the sync. */
int32_t pdl_launch_flags(void* stream, const pdl_launch* launch, const pdl_kernel* kernel,
                         const pdl_chain_args* args, const pdl_flags* flags);
/* All nodes in one cooperative launch; `args` is node 0's, values follow one another. */
int32_t pdl_launch_persistent(void* stream, const pdl_launch* launch, const pdl_kernel* kernel,
                              const pdl_chain_args* args, const pdl_persistent* persistent);

/* `count` launches of one node in a plain C++ loop: what the Rust path is compared with. */
int32_t pdl_launch_chain_loop(void* stream, const pdl_launch* launch, const pdl_kernel* kernel,
                              const pdl_chain_args* args, uint32_t count);

/* `count` launches of an instantiated graph (cudaGraphExec_t), likewise. */
int32_t pdl_launch_graph_loop(void* stream, void* executable, uint32_t count);

/* Holds the stream until *open is not 0 or `timeout_ns` have passed; then *timed_out is set. */
int32_t pdl_launch_gate(void* stream, const uint32_t* open, uint32_t* timed_out,
                        uint64_t timeout_ns);
/* Fills `vectors` 16-byte vectors: word j becomes j. */
int32_t pdl_launch_fill(void* stream, void* region, uint64_t vectors);
/* Reads and rewrites `vectors` 16-byte vectors, so that L2 holds nothing else. */
int32_t pdl_launch_flush(void* stream, void* region, uint64_t vectors);
/* Compares `count` values with the oracle's, poisons them, and clears `flag_count` flags. Writes to
 * the two mapped words at `host` how many values differed and the lowest index that did.
 * `counters` are two device words, 0 and UINT64_MAX, and are so again afterwards. */
int32_t pdl_launch_check(void* stream, uint64_t* values, const uint64_t* expected, uint64_t count,
                         uint64_t* counters, uint64_t* host, uint32_t* flags,
                         uint64_t flag_count);
/* Smallest step of the global timer seen by one thread in `reads` reads, in ns. */
int32_t pdl_launch_timer_step(void* stream, uint64_t* step_ns, uint32_t reads);
/* Offset of each SM's global timer to block 0's, by `rounds` round trips of a token. `mailbox`:
 * 2 words a block, zero. `offsets_ns`, `trips_ns`, `sms`: one a block; of the shortest trip. */
int32_t pdl_launch_skew(void* stream, uint32_t blocks, uint32_t rounds, uint64_t* mailbox,
                        int64_t* offsets_ns, uint64_t* trips_ns, uint32_t* sms);

/* One node of the race check. `input` is apart from the other arguments, so that a mutant can
 * qualify it. */
int32_t pdl_launch_check_node(void* stream, const pdl_launch* launch, const pdl_kernel* kernel,
                              const pdl_check_args* args, const uint64_t* input);
/* Poisons the rows and clears the stamps before a repetition. */
int32_t pdl_launch_check_poison(void* stream, const pdl_check_judge* judge);
/* Compares the rows with the oracle's after a repetition and counts it. */
int32_t pdl_launch_check_judge(void* stream, const pdl_check_judge* judge);

/* Makes the next launch into a capturing stream depend on the last one over a programmatic edge
 * from `from_port` (0 default, 1 programmatic, 2 launch completion). */
int32_t pdl_capture_port(void* stream, uint32_t from_port);
/* Reads a graph's edges, with their data. `edges` may be null to ask for *count. */
int32_t pdl_graph_edges(void* graph, pdl_edge* edges, uint64_t* count);

/* ---- Conformance: actors that trigger, sync, read and write where they are told ---- */

/* Threads of a block of an actor, and words that the block writes. */
#define PDL_ACTOR_THREADS 64

/* When a block of an actor triggers. BEFORE_SYNC comes after the first spin. */
typedef enum {
  PDL_MOMENT_NEVER = 0,
  PDL_MOMENT_AT_ENTRY = 1,
  PDL_MOMENT_BEFORE_SYNC = 2,
  PDL_MOMENT_AFTER_SYNC = 3,
  PDL_MOMENT_AFTER_WRITE = 4
} pdl_moment;

/* The event that a launch records by an attribute. */
typedef enum {
  PDL_EVENT_NONE = 0,
  PDL_EVENT_PROGRAMMATIC = 1,
  PDL_EVENT_AT_BLOCK_START = 2, /* programmatic, with triggerAtBlockStart */
  PDL_EVENT_LAUNCH_COMPLETION = 3
} pdl_event_kind;

/* What a block does: spin, sync, spin, write, spin; or spin and return before the sync. */
typedef struct {
  uint32_t trigger; /* pdl_moment */
  uint32_t sync;
  uint32_t returns;
  uint32_t fence; /* between the write and a trigger after it */
  uint32_t before_ns;
  uint32_t body_ns;
  uint32_t after_ns;
  uint32_t reserved;
} pdl_role;

/* Stamps of one block of an actor, on the global timer; zeros: it did not run, or did not get
 * there. Stale words are counted in the read before the sync and in the one after it. */
typedef struct {
  uint64_t begin_ns;
  uint64_t trigger_ns;
  uint64_t arrive_ns;
  uint64_t release_ns;
  uint64_t end_ns;
  uint32_t sm;
  uint32_t returned;
  uint32_t early_stale[2];
  uint32_t late_stale[2];
} pdl_actor_stamp;

/* An actor. Blocks from `split` on play the second role. */
typedef struct {
  const uint64_t* reads[2];
  uint64_t read_words[2]; /* 0: the slot is not read */
  uint64_t expected[2];
  uint64_t* words; /* PDL_ACTOR_THREADS a block */
  uint64_t value;
  pdl_actor_stamp* stamps; /* one a block; null: none */
  const uint32_t* jitter_ns; /* added to every body that is not 0 */
  pdl_role roles[2];
  uint32_t split;
  uint32_t trigger_thread;
  uint32_t retriggers; /* 1: all threads trigger at their end */
  uint32_t reserved;
} pdl_actor_args;

/* How an actor is launched. */
typedef struct {
  void* event;
  uint32_t event_kind; /* pdl_event_kind */
  uint32_t grid_blocks;
  uint32_t cluster_blocks;
  uint32_t shared_bytes;
  uint32_t programmatic;
  uint32_t cooperative;
  uint32_t prioritised; /* 1: with `priority` */
  int32_t priority;
} pdl_actor_launch;

/* One hop, launched many times: the primary counts late, the secondary checks. */
typedef struct {
  uint64_t count;
  uint64_t seen;
  uint64_t wrong; /* launches in which the secondary did not find the primary's count */
  uint64_t ahead; /* launches in which the secondary began before the primary's end */
  uint64_t end_ns;
} pdl_tally;

/* Loads the actor and says how many of its blocks an SM holds. */
int32_t pdl_actor_blocks_per_sm(uint32_t shared_bytes, int32_t* blocks);
int32_t pdl_launch_actor(void* stream, const pdl_actor_launch* launch, const pdl_actor_args* args);
/* The primary and, programmatic, the secondary of a tally. */
int32_t pdl_launch_tally(void* stream, pdl_tally* tally);
/* Adds an actor to a graph, without edges and attributes. */
int32_t pdl_graph_add_actor(void* graph, const pdl_actor_launch* launch, const pdl_actor_args* args,
                            void** node);
/* Adds an edge from port `from_port` (0 default, and then full; 1 programmatic; 2 launch
 * completion). */
int32_t pdl_graph_connect(void* graph, void* from, void* to, uint32_t from_port);
/* What the runtime answers when it is asked for the edges of a graph of up to 64 edges without
 * their data. */
int32_t pdl_graph_edges_without_data(void* graph);

/* Ranges that tools such as Nsight Systems show; without a tool they cost a few nanoseconds. */
void pdl_range_push(const char* name);
void pdl_range_pop(void);
/* Whether this build has them: it was made with the NVTX headers. */
int32_t pdl_ranges(void);

/* ---- Graphs made elsewhere: comparing memory, and a stand-in for a primary ---- */

/* Memory is searched for changes in chunks of so many bytes. */
#define PDL_CHUNK_BYTES 65536

/* Bytes that differ, and the lowest offset of one: start with 0 and UINT64_MAX. */
typedef struct {
  uint64_t bytes;
  uint64_t first;
} pdl_difference;

/* What a byte that the primary changes holds before the stand-in puts the primary's value in place:
 * what it held before the primary, the opposite of every bit of the primary's, or ones. */
typedef enum { PDL_STALE_BEFORE = 0, PDL_STALE_INVERTED = 1, PDL_STALE_ONES = 2 } pdl_stale;

/* A piece of memory, and records of what it held before and after the primary. */
typedef struct {
  uint8_t* live;
  const uint8_t* before;
  const uint8_t* after;
  uint64_t bytes;
} pdl_piece;

/* What a stand-in leaves; start with UINT64_MAX, 0, 0 and UINT64_MAX. `stale`, a pdl_stale, is what
 * it expects to find. */
typedef struct {
  uint64_t woke_ns;     /* the first block's wake, on the global timer */
  uint64_t end_ns;      /* the last block's end */
  uint64_t early_bytes; /* bytes of the pieces that someone wrote before the wake */
  uint64_t early_piece; /* lowest piece with one */
  uint64_t stale;
} pdl_stand_in_state;

/* A stand-in for a primary: triggers, sleeps, and puts in place what the primary writes. */
typedef struct {
  const pdl_piece* pieces;
  pdl_stand_in_state* state;
  uint64_t sleep_ns;
  uint64_t count;
} pdl_stand_in_args;

/* Kernels that read what their primary writes, to try the race check on. */
typedef enum {
  PDL_CONSUMER_SYNCS = 0,
  PDL_CONSUMER_NO_SYNC = 1,
  PDL_CONSUMER_EARLY_WRITER = 2 /* writes its output before the sync too */
} pdl_consumer;

/* Adds to *difference how `bytes` at `a` and `b` differ. */
int32_t pdl_launch_compare(void* stream, const void* a, const void* b, uint64_t bytes,
                           pdl_difference* difference);
/* Adds to counts[i] the bytes of chunk i that differ. */
int32_t pdl_launch_dirty(void* stream, const void* a, const void* b, uint64_t bytes,
                         uint32_t* counts);
/* Makes the live memory of `count` pieces what it is before the primary. */
int32_t pdl_launch_stage(void* stream, const pdl_piece* pieces, uint32_t count, uint32_t stale);
/* Adds a stand-in, without edges. */
int32_t pdl_graph_add_stand_in(void* graph, const pdl_stand_in_args* args, void** node);
/* Adds a kernel of one thread that writes when it began, without edges. */
int32_t pdl_graph_add_witness(void* graph, uint64_t* begin_ns, void** node);
/* The same two in a stream, behind full dependencies. */
int32_t pdl_launch_stand_in(void* stream, const pdl_stand_in_args* args);
int32_t pdl_launch_witness(void* stream, uint64_t* begin_ns);
/* output[i] = input[i] + 1; `kind` is a pdl_consumer. */
int32_t pdl_launch_consumer(void* stream, uint32_t kind, const uint32_t* input, uint32_t* output,
                            uint32_t count);

/* One launch of a chain written by hand: `cubin` holds `kernel`, by its mangled name. Everything is
 * copied, but for the cubin, which outlives the chain. */
typedef struct {
  const void* cubin;
  const char* kernel;
  const void* const* args;
  const uint32_t* arg_bytes;
  uint32_t arg_count;
  uint32_t grid[3];
  uint32_t block[3];
  uint32_t cluster[3]; /* ones: none */
  uint32_t shared_bytes;
  uint32_t programmatic; /* 1: behind a programmatic dependency on the launch before */
} pdl_hand_launch;

/* A chain written by hand: what this program's own way to launch is compared with. It keeps state,
 * and shares nothing with the rest. */
typedef struct pdl_by_hand pdl_by_hand;

int32_t pdl_by_hand_create(const pdl_hand_launch* launches, uint32_t count, pdl_by_hand** made);
/* Makes a graph of it, node by node; from now on that is what is launched. */
int32_t pdl_by_hand_build(void* stream, pdl_by_hand* chain);
/* Queues all launches in a loop, or the graph. */
int32_t pdl_by_hand_launch(void* stream, const pdl_by_hand* chain);
void pdl_by_hand_destroy(pdl_by_hand* chain);

#ifdef __cplusplus
}
#endif
#endif
