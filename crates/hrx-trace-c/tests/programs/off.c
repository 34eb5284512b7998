// Compiled with HRXT_OFF, it needs no library, and none of its arguments is evaluated.
#define HRXT_OFF
#include "hrx_trace.h"
#include "hrx_trace.h"

static int evaluated;
static int evaluate(void) { return ++evaluated; }

int main(void) {
  hrxt_recorder *recorder = NULL;
  if (HRXT_CREATE("/no/such/folder", NULL, &recorder) != 0) {
    return 1;
  }
  hrxt_label_t label = HRXT_LABEL(recorder, "label");
  hrxt_region_t region = HRXT_BEGIN(recorder, HRXT_LANE_HOST + (hrxt_lane_t)evaluate(), label);
  HRXT_MARK(recorder, (hrxt_lane_t)evaluate(), label);
  HRXT_VALUE(recorder, label, evaluate());
  HRXT_FAIL(region, (uint32_t)evaluate());
  HRXT_END(region);
  HRXT_CLOSE(recorder);
  return evaluated;
}
