#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

#include <sys/resource.h>
#include <unistd.h>

#include "http/simulation.h"

namespace berth::http {

namespace {

class PoolReaders final : public Readers {
 public:
  explicit PoolReaders(std::size_t threads) : pool_(threads) {
    for (std::size_t i = 0; i < threads; ++i) boost::asio::post(pool_, yield_to_requests);
  }
  ~PoolReaders() override {
    pool_.stop();
    pool_.join();
  }
  void post(std::function<void()> work) override { boost::asio::post(pool_, std::move(work)); }

 private:
  /// If there are fewer cores than threads, long lists give way to short requests.
  static void yield_to_requests() {
    constexpr int kNice = 5;
    (void)setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kNice);
  }

  boost::asio::thread_pool pool_;
};

}  // namespace

std::unique_ptr<Readers> Readers::make(std::size_t threads) { return std::make_unique<PoolReaders>(threads); }

}  // namespace berth::http
