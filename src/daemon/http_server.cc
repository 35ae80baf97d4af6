#include "daemon/http_server.h"

#include <httplib.h>

#include <atomic>
#include <charconv>
#include <nlohmann/json.hpp>
#include <thread>

#include "daemon/metrics_text.h"
#include "daemon/page.h"
#include "daemon/status_json.h"

namespace cuzk::daemon {

namespace {

constexpr const char* kJson = "application/json";
// Everything the page needs is in the page.
constexpr const char* kPagePolicy =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
    "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

}  // namespace

class HttpServer::Impl {
 public:
  Impl(engine::Service& service, Log& log, const HttpOptions& options)
      : service_(service), log_(log), options_(options) {
    server_.new_task_queue = [] { return new httplib::ThreadPool(kHttpThreads); };
    server_.set_payload_max_length(0);
    server_.set_read_timeout(5);
    server_.set_write_timeout(10);
    server_.set_keep_alive_timeout(5);
    server_.set_keep_alive_max_count(1000);
    add_headers();
    add_pages();
    add_machine_readable();
    add_events();
  }

  ~Impl() {
    stops_ = true;
    server_.stop();
  }

  Status start() {
    Address& listen = options_.listen;
    const int port = listen.port == 0
                         ? server_.bind_to_any_port(listen.host)
                         : (server_.bind_to_port(listen.host, listen.port) ? listen.port : -1);
    if (port <= 0) {
      return fail(ErrorCode::kIo, "{}: cannot listen there for HTTP: {}", listen.text(),
                  std::strerror(errno));
    }
    listen.port = static_cast<std::uint16_t>(port);
    thread_ = std::jthread([this] { server_.listen_after_bind(); });
    return {};
  }

  const Address& address() const { return options_.listen; }

 private:
  void add_headers() {
    httplib::Headers headers = {{"X-Content-Type-Options", "nosniff"},
                                {"Cache-Control", "no-store"}};
    if (!options_.cors_origin.empty()) {
      headers.emplace("Access-Control-Allow-Origin", options_.cors_origin);
    }
    server_.set_default_headers(headers);
    server_.set_error_handler([](const httplib::Request&, httplib::Response& response) {
      if (response.status == 404) response.set_content("404 Not Found\n", "text/plain");
    });
    server_.set_exception_handler(
        [this](const httplib::Request& request, httplib::Response& response, std::exception_ptr e) {
          response.status = 500;
          try {
            std::rethrow_exception(e);
          } catch (const std::exception& error) {
            log_.error("http", {{"path", request.path}, {"error", error.what()}});
          } catch (...) {
            log_.error("http", {{"path", request.path}, {"error", "unknown exception"}});
          }
        });
  }

  void add_pages() {
    server_.Get("/", [](const httplib::Request&, httplib::Response& response) {
      response.set_header("Content-Security-Policy", kPagePolicy);
      const std::string_view page = status_page();
      response.set_content(page.data(), page.size(), "text/html; charset=utf-8");
    });
    server_.Get("/healthz", [this](const httplib::Request&, httplib::Response& response) {
      (void)service_.ready();  // takes the service's locks: an answer shows that they are free
      response.set_content("ok\n", "text/plain");
    });
    server_.Get("/readyz", [this](const httplib::Request&, httplib::Response& response) {
      const engine::ServiceStatus status = service_.status();
      response.status = status.ready ? 200 : 503;
      std::string text = status.ready ? "ready\n" : status.draining ? "draining\n" : "not ready\n";
      for (const engine::Problem& p : status.problems) {
        text += fmt::format("{}: {}\n", p.subject, p.message);
      }
      response.set_content(text, "text/plain");
    });
  }

  void add_machine_readable() {
    server_.Get("/status", [this](const httplib::Request&, httplib::Response& response) {
      response.set_content(json_text(status_json(service_.metrics(), options_.version)), kJson);
    });
    server_.Get("/metrics", [this](const httplib::Request&, httplib::Response& response) {
      response.set_content(
          metrics_text(service_.metrics(), {options_.version, options_.cuda, false}),
          "text/plain; version=0.0.4; charset=utf-8");
    });
    server_.Get("/spans", [this](const httplib::Request& request, httplib::Response& response) {
      std::uint64_t after = 0;
      const std::string text = request.get_param_value("after");
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), after);
      if (!text.empty() && (error != std::errc() || end != text.data() + text.size())) {
        response.status = 400;
        response.set_content("after: a whole number is expected\n", "text/plain");
        return;
      }
      const auto spans = service_.spans(after);
      response.set_content(json_text(spans_json(spans, service_.status().uptime_us)), kJson);
    });
    server_.Get("/trace.json", [this](const httplib::Request&, httplib::Response& response) {
      response.set_header("Content-Disposition", "attachment; filename=\"cuzk-trace.json\"");
      response.set_content(service_.trace_json(), kJson);
    });
  }

  void add_events() {
    server_.Get("/events", [this](const httplib::Request&, httplib::Response& response) {
      if (++streams_ > kMaxEventStreams) {
        --streams_;
        response.status = 503;
        response.set_content(fmt::format("{} event streams are the most\n", kMaxEventStreams),
                             "text/plain");
        return;
      }
      std::shared_ptr<engine::Service::Events> events = service_.subscribe();
      response.set_chunked_content_provider(
          "text/event-stream",
          [this, events](std::size_t, httplib::DataSink& sink) { return send(*events, sink); },
          [this](bool) { --streams_; });
    });
  }

  // What happened within a second, or a comment that shows whether the reader is still there.
  bool send(engine::Service::Events& events, httplib::DataSink& sink) {
    const auto began = std::chrono::steady_clock::now();
    const auto list = events.next(began + std::chrono::seconds(1));
    std::string text = list.empty() ? ": \n\n" : "";
    for (const engine::Event& event : list) {
      text += fmt::format("id: {}\ndata: {}\n\n", event.sequence,
                          json_text(event_json(event, events.lost())));
    }
    if (!sink.write(text.data(), text.size())) return false;
    const bool service_stopped =
        list.empty() && std::chrono::steady_clock::now() - began < std::chrono::milliseconds(500);
    if (stops_ || service_stopped) sink.done();
    return true;
  }

  engine::Service& service_;
  Log& log_;
  HttpOptions options_;
  std::atomic<int> streams_{0};
  std::atomic<bool> stops_{false};
  httplib::Server server_;
  std::jthread thread_;  // last: ends before the server goes
};

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() = default;

Result<std::unique_ptr<HttpServer>> HttpServer::start(engine::Service& service, Log& log,
                                                      const HttpOptions& options) {
  auto impl = std::make_unique<Impl>(service, log, options);
  CUZK_TRY_VOID(impl->start());
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

const Address& HttpServer::address() const { return impl_->address(); }

}  // namespace cuzk::daemon
