/* A tool that listens to NVTX: it writes each range's begin and end to the file that is named in
 * RANGE_TEST_FILE. */

#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>

static void put(const char* what, const char* name) {
  FILE* file = fopen(getenv("RANGE_TEST_FILE"), "a");
  fprintf(file, name ? "%s %s\n" : "%s\n", what, name);
  fclose(file);
}

static int NVTX_API on_push(const char* name) {
  put("push", name);
  return 0;
}

static int NVTX_API on_pop(void) {
  put("pop", NULL);
  return 0;
}

int NVTX_API InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table) {
  const NvtxExportTableCallbacks* callbacks = get_table(NVTX_ETID_CALLBACKS);
  NvtxFunctionTable table = 0;
  unsigned int size = 0;
  if (!callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size)) return 0;
  if (size <= NVTX_CBID_CORE_RangePop) return 0;
  *table[NVTX_CBID_CORE_RangePushA] = (NvtxFunctionPointer)on_push;
  *table[NVTX_CBID_CORE_RangePop] = (NvtxFunctionPointer)on_pop;
  return 1;
}
