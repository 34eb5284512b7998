// hrx-trace for C++17: recorders and regions that end with their scope. All times are host-observed.
//
//     hrxt::recorder recorder;
//     if (recorder.create("run.hrxt") != 0) { ... }
//     const auto gemm = recorder.label("gemm");
//     {
//       hrxt::region region(recorder, HRXT_LANE_COMPUTE, gemm);
//       ...
//     }  // completed; failed if an exception left the scope
#ifndef HRX_TRACE_HPP
#define HRX_TRACE_HPP

#include <cstdint>
#include <exception>
#include <string>
#include <utility>

#include "hrx_trace.h"

namespace hrxt {

// A recorder, closed with its scope. What is recorded by one that was not created does nothing.
class recorder {
 public:
  recorder() noexcept = default;
  recorder(recorder &&other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
  recorder &operator=(recorder &&other) noexcept {
    if (this != &other) {
      close();
      raw_ = std::exchange(other.raw_, nullptr);
    }
    return *this;
  }
  recorder(const recorder &) = delete;
  recorder &operator=(const recorder &) = delete;
  ~recorder() { close(); }

  // 0 or a negative errno, as of hrxt_create. What was created before is closed.
  int create(const std::string &path, const hrxt_options &options = hrxt_default_options()) noexcept {
    close();
    return hrxt_create(path.c_str(), &options, &raw_);
  }
  int create_from_environment(const hrxt_options &options = hrxt_default_options()) noexcept {
    close();
    return hrxt_create_from_environment(&options, &raw_);
  }
  void close() noexcept {
    if (raw_ != nullptr) {
      hrxt_close(std::exchange(raw_, nullptr));
    }
  }

  hrxt_label_t label(const std::string &text) const noexcept { return hrxt_label(raw_, text.c_str()); }
  hrxt_key_t key(const std::string &text) const noexcept { return hrxt_key(raw_, text.c_str()); }
  hrxt_lane_t lane(const std::string &text) const noexcept { return hrxt_lane(raw_, text.c_str()); }

  void mark(hrxt_lane_t lane, hrxt_label_t label) const noexcept { hrxt_mark(raw_, lane, label); }
  void value(hrxt_label_t label, double number) const noexcept { hrxt_value(raw_, label, number); }

  // For all other calls of hrx_trace.h.
  hrxt_recorder *raw() const noexcept { return raw_; }

 private:
  hrxt_recorder *raw_ = nullptr;
};

// A region, ended with its scope: completed, or failed if an exception left it.
class region {
 public:
  region() noexcept = default;
  region(const recorder &by, hrxt_lane_t lane, hrxt_label_t label) noexcept
      : handle_(hrxt_begin(by.raw(), lane, label)) {}
  region(const recorder &by, const hrxt_event &event) noexcept : handle_(hrxt_begin_event(by.raw(), &event)) {}
  // Takes over a handle that went through a callback.
  explicit region(hrxt_region_t handle) noexcept : handle_(handle) {}
  region(region &&other) noexcept : handle_(other.release()) {}
  region &operator=(region &&other) noexcept {
    if (this != &other) {
      end();
      handle_ = other.release();
    }
    return *this;
  }
  region(const region &) = delete;
  region &operator=(const region &) = delete;
  ~region() {
    if (std::uncaught_exceptions() > exceptions_) {
      fail(0);
    } else {
      end();
    }
  }

  void end() noexcept { hrxt_end(release()); }
  void end_copied(std::uint64_t copied_bytes) noexcept { hrxt_end_copied(release(), copied_bytes); }
  void fail(std::uint32_t status) noexcept { hrxt_fail(release(), status); }
  void cancel() noexcept { hrxt_cancel(release()); }

  void argument(hrxt_key_t key, std::uint64_t number) noexcept { hrxt_argument_u64(handle_, key, number); }
  void argument(hrxt_key_t key, std::int64_t number) noexcept { hrxt_argument_i64(handle_, key, number); }
  void argument(hrxt_key_t key, std::uint32_t number) noexcept { hrxt_argument_u64(handle_, key, number); }
  void argument(hrxt_key_t key, std::int32_t number) noexcept { hrxt_argument_i64(handle_, key, number); }
  void argument(hrxt_key_t key, double number) noexcept { hrxt_argument_f64(handle_, key, number); }
  void argument(hrxt_key_t key, bool truth) noexcept { hrxt_argument_bool(handle_, key, truth); }
  void argument(hrxt_key_t key, const char *text) noexcept { hrxt_argument_text(handle_, key, text); }
  void argument(hrxt_key_t key, const std::string &text) noexcept { hrxt_argument_text(handle_, key, text.c_str()); }

  // The region goes on without this: some other code ends the handle.
  hrxt_region_t release() noexcept { return std::exchange(handle_, 0); }
  // For all other calls of hrx_trace.h.
  hrxt_region_t handle() const noexcept { return handle_; }

 private:
  hrxt_region_t handle_ = 0;
  int exceptions_ = std::uncaught_exceptions();
};

}  // namespace hrxt

#endif
