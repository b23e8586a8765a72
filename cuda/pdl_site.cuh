// Marks for Programmatic Dependent Launch in your own kernels. One header, no dependency.
// MIT OR Apache-2.0.
//
//   PDL_TRIGGER_SITE(n)  a place where the dependents could be let go; n is 0 to 31
//   PDL_SYNC_SITE(n)     a place where the kernel could wait for what it depends on; n is 0 to 31
//   PDL_STAMP(name)      a moment to look at: begin is the first line, end the last, and any other name
//                        begins a phase of that name on the timeline (up to 8 in a kernel)
//
// Compiled as they are, triggers are nothing and every sync site is a sync, so that marks can stay
// in production. Flags choose:
//
//   -DPDL_TRIGGER_AT=2       the trigger site 2, and no other
//   -DPDL_TRIGGER_SITES=0x12 the trigger sites 1 and 4 (bit n is site n)
//   -DPDL_SYNC_AT=1          the sync site 1, and no other
//   -DPDL_SYNC_SITES=0x2     the same as bits
//   -DPDL_OFF                no trigger and no sync: only behind full dependencies
//
// `pdl kernel` sets these, and for its own passes:
//
//   -DPDL_CHECK_NS=100000    a chosen trigger is followed by so long a sleep: what was still to be
//                            written is written late, and a secondary that reads too early reads old
//                            values
//   -DPDL_STAMPS             moments are stored, for timelines and the proof of overlap
//
// Below sm_90 every mark compiles to nothing. A sync on some paths only is no sync: put one on each.
#pragma once

#define PDL_TRIGGER_SITE(n) ::pdl_site::trigger<::pdl_site::chosen<(n)>(PDL_SITE_TRIGGERS)>()
#define PDL_SYNC_SITE(n) ::pdl_site::sync<::pdl_site::chosen<(n)>(PDL_SITE_SYNCS)>()
#if defined(PDL_STAMPS)
#define PDL_STAMP(name) ::pdl_site::mark<::pdl_site::hash(#name)>()
#else
#define PDL_STAMP(name) ((void)0)
#endif

#if defined(PDL_OFF)
#define PDL_SITE_TRIGGERS 0u
#define PDL_SITE_SYNCS 0u
#else
#if defined(PDL_TRIGGER_SITES)
#define PDL_SITE_TRIGGERS (PDL_TRIGGER_SITES + 0u)
#elif defined(PDL_TRIGGER_AT)
#define PDL_SITE_TRIGGERS ::pdl_site::bit<(PDL_TRIGGER_AT)>()
#else
#define PDL_SITE_TRIGGERS 0u
#endif
#if defined(PDL_SYNC_SITES)
#define PDL_SITE_SYNCS (PDL_SYNC_SITES + 0u)
#elif defined(PDL_SYNC_AT)
#define PDL_SITE_SYNCS ::pdl_site::bit<(PDL_SYNC_AT)>()
#else
#define PDL_SITE_SYNCS (~0u)
#endif
#endif

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define PDL_SITE_ARCH 1
#else
#define PDL_SITE_ARCH 0
#endif

#if defined(PDL_STAMPS)
#define PDL_SITE_MARKS 8
// What a block stores, by its first thread: nanoseconds of the global timer, 0 for what never was.
// Named moments are kept in the order in which they are first reached; `missed` are those for which
// there was no room.
struct pdl_site_record {
  unsigned long long begin_ns, trigger_ns, arrive_ns, release_ns, end_ns;
  unsigned sm, marks, missed, reserved;
  unsigned long long mark_ns[PDL_SITE_MARKS];
  unsigned mark_name[PDL_SITE_MARKS];
};
// One record a block, in the order x, y, z; set by the harness before the launch, null for none.
extern "C" {
__device__ pdl_site_record* pdl_site_records;
}
#endif

namespace pdl_site {

// The bit of a site.
template <int Site>
__host__ __device__ constexpr unsigned bit() {
  static_assert(Site >= 0 && Site < 32, "pdl_site.cuh: the number of a site is 0 to 31");
  return 1u << (Site & 31);
}

template <int Site>
__host__ __device__ constexpr bool chosen(unsigned sites) {
  return (sites & bit<Site>()) != 0;
}

enum moment { triggered, arrive, release };

__device__ __forceinline__ unsigned long long now_ns() {
  unsigned long long ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns)::"memory");
  return ns;
}

#if defined(PDL_STAMPS)
// A name as a number: FNV-1a.
__host__ __device__ constexpr unsigned hash(const char* name, unsigned so_far = 2166136261u) {
  return *name == 0 ? so_far
                    : hash(name + 1, (so_far ^ static_cast<unsigned char>(*name)) * 16777619u);
}

// In shared memory until the end: a store to global memory would stand between the moments.
__device__ __forceinline__ pdl_site_record& record() {
  __shared__ pdl_site_record kept;
  return kept;
}

__device__ __forceinline__ bool first_thread() {
  return threadIdx.x == 0 && threadIdx.y == 0 && threadIdx.z == 0;
}

template <unsigned Name>
__device__ __forceinline__ void mark() {
  if (!first_thread()) return;
  pdl_site_record& r = record();
  const unsigned long long ns = now_ns();
  if (Name == hash("begin")) {
    r.trigger_ns = r.arrive_ns = r.release_ns = 0;
    r.marks = r.missed = 0;
    r.begin_ns = ns;
  } else if (Name == hash("end")) {
    r.end_ns = ns;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(r.sm));
    if (pdl_site_records) {
      pdl_site_records[blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z)] = r;
    }
  } else {
    for (unsigned i = 0; i < r.marks; ++i) {
      if (r.mark_name[i] == Name) return;
    }
    if (r.marks == PDL_SITE_MARKS) {
      ++r.missed;
      return;
    }
    r.mark_name[r.marks] = Name;
    r.mark_ns[r.marks++] = ns;
  }
}
#endif

// Moments of triggers and syncs.
__device__ __forceinline__ void stamp(moment m) {
#if defined(PDL_STAMPS)
  if (!first_thread()) return;
  pdl_site_record& r = record();
  unsigned long long& kept = m == triggered ? r.trigger_ns : m == arrive ? r.arrive_ns : r.release_ns;
  const unsigned long long ns = now_ns();
  if (kept == 0) kept = ns;
#else
  (void)m;
#endif
}

template <bool Chosen>
__device__ __forceinline__ void trigger() {
#if PDL_SITE_ARCH
  if (Chosen) {
    stamp(triggered);
    // The clobber keeps memory accesses on their side of it. It publishes nothing all the same.
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#if defined(PDL_CHECK_NS)
    const unsigned long long until = now_ns() + PDL_CHECK_NS;
    while (now_ns() < until) __nanosleep(64);
#endif
  }
#endif
}

template <bool Chosen>
__device__ __forceinline__ void sync() {
#if PDL_SITE_ARCH
  if (Chosen) {
    stamp(arrive);
    asm volatile("griddepcontrol.wait;" ::: "memory");
    stamp(release);
  }
#endif
}

}  // namespace pdl_site
