// The C++ wrapper: regions that end with their scopes, by exceptions too.
//
//     scopes CAPTURE
#include <stdexcept>
#include <thread>
#include <vector>

#include "hrx_trace.hpp"

int main(int count, char **arguments) {
  if (count != 2) {
    return 1;
  }
  hrxt::recorder recorder;
  hrxt::region(recorder, HRXT_LANE_HOST, 0).end();  // of none: nothing happens
  if (recorder.create(arguments[1]) != 0) {
    return 1;
  }
  const auto label = recorder.label("scope");
  const auto key = recorder.key("key");
  { hrxt::region completed(recorder, HRXT_LANE_HOST, label); }
  try {
    hrxt::region failed(recorder, HRXT_LANE_HOST, label);
    failed.argument(key, true);
    failed.argument(key, 0.5);
    failed.argument(key, -7);
    failed.argument(key, std::string("text"));
    failed.argument(key, "literal");
    throw std::runtime_error("on purpose");
  } catch (const std::runtime_error &) {
    hrxt::region completed(recorder, HRXT_LANE_HOST, label);
  }
  hrxt::region cancelled(recorder, HRXT_LANE_HOST, label);
  cancelled.cancel();
  hrxt::region moved(recorder, hrxt_event_of(HRXT_LANE_COMPUTE, label));
  std::thread([there = std::move(moved)]() mutable { there.end_copied(4096); }).join();
  hrxt::region sent(hrxt::region(recorder, HRXT_LANE_HOST, label).release());
  std::vector<hrxt::region> several;
  several.emplace_back(recorder, HRXT_LANE_HOST, label);
  several.emplace_back(recorder, HRXT_LANE_HOST, label);
  recorder.mark(HRXT_LANE_HOST, label);
  recorder.value(label, 1.5);
  several.clear();
  sent.end();
  hrxt::recorder other(std::move(recorder));
  hrxt::region after(other, HRXT_LANE_HOST, label);
  after = hrxt::region();
  return recorder.raw() == nullptr ? 0 : 1;
}
