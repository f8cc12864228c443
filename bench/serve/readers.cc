#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

#include "serve/simulation.h"

namespace berth::serve {

namespace {

class PoolReaders final : public Readers {
 public:
  explicit PoolReaders(std::size_t threads) : pool_(threads) {}
  ~PoolReaders() override {
    pool_.stop();
    pool_.join();
  }
  void post(std::function<void()> work) override { boost::asio::post(pool_, std::move(work)); }

 private:
  boost::asio::thread_pool pool_;
};

}  // namespace

std::unique_ptr<Readers> Readers::make(std::size_t threads) { return std::make_unique<PoolReaders>(threads); }

}  // namespace berth::serve
