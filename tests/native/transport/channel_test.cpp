// Requests and answers over channels, against servers of every temper.
#include <algorithm>
#include <random>

#include "fixtures.h"

namespace channel_test {

using namespace fixtures;

TEST(answers_find_their_requests) {
    for (const char* backend : kPollers) {
        Server server(echo);
        Events events;
        {
            Client client(backend);
            auto channel = client.connected(server.port(), events);
            for (int i = 0; i < 200; ++i) {
                auto* request = new Request;
                CHECK(submit(*channel, *request, frame("request " + std::to_string(i))).status ==
                      SubmitStatus::Accepted);
                CHECK(request->wait());
                CHECK(request->body() == std::string("\0\0\0\1", 4) + "request " + std::to_string(i));
                release(request);
            }
            CHECK(channel->in_flight() == 0);
        }
        CHECK(events.is_closed() && events.kind == Reason::Kind::Stopped);
    }
    nothing_is_left();
}

TEST(many_threads_many_requests) {
    Server server(echo);
    Events events;
    Client client;
    auto channel = client.connected(server.port(), events);
    std::vector<std::thread> threads;
    for (int t = 0; t < 6; ++t) {
        threads.emplace_back([&, t] {
            std::mt19937 random(static_cast<unsigned>(t));
            for (int round = 0; round < 30; ++round) {
                std::vector<std::pair<Request*, std::string>> burst;
                for (int i = 0; i < 20; ++i) {
                    const size_t size = random() % 20 ? random() % 500 : random() % 60000;
                    burst.emplace_back(new Request,
                                       std::string(size, static_cast<char>('a' + t)) + std::to_string(i));
                    CHECK(submit(*channel, *burst.back().first, frame(burst.back().second)).status ==
                          SubmitStatus::Accepted);
                }
                for (auto& [request, text] : burst) {
                    CHECK(request->wait());
                    CHECK(request->body().substr(4) == text);
                    release(request);
                }
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    client.stop();
    channel = nullptr;
    nothing_is_left();
}

TEST(answers_out_of_order_and_dribbling) {
    Server server([](int fd) {
        std::vector<std::string> answers;
        Header header;
        std::string body;
        for (int i = 0; i < 50 && read_frame(fd, &header, &body); ++i)
            answers.push_back(answer(body, header.stream));
        std::shuffle(answers.begin(), answers.end(), std::mt19937(3));
        std::string stream;
        for (const std::string& text : answers) stream += text;
        for (const char byte : stream) {
            if (!write_all(fd, std::string(1, byte))) return;
        }
        read_frame(fd, &header, &body);
    });
    Events events;
    Client client;
    auto channel = client.connected(server.port(), events);
    std::vector<Request*> requests;
    for (int i = 0; i < 50; ++i) {
        requests.push_back(new Request);
        submit(*channel, *requests.back(), frame(std::to_string(i)));
    }
    for (int i = 0; i < 50; ++i) {
        CHECK(requests[static_cast<size_t>(i)]->wait());
        CHECK(requests[static_cast<size_t>(i)]->body().substr(4) == std::to_string(i));
        release(requests[static_cast<size_t>(i)]);
    }
}

TEST(a_late_answer_frees_its_stream) {
    std::atomic<bool> go{false};
    Server server([&](int fd) {
        Header first, second;
        std::string body;
        CHECK(read_frame(fd, &first, &body));
        CHECK(read_frame(fd, &second, &body));
        CHECK(first.stream != second.stream);
        write_all(fd, answer(body, second.stream));
        while (!go) testing::pause_ms(1);
        write_all(fd, answer("late", first.stream));
        read_frame(fd, &first, &body);
    });
    Events events;
    Client client;
    auto channel = client.connected(server.port(), events);
    auto* slow = new Request;
    const SubmitResult sent = submit(*channel, *slow, frame("slow"), 0.05, 7);
    CHECK(slow->wait());
    CHECK(slow->outcome().failure && slow->outcome().failure->kind == FailureKind::TimedOut);
    CHECK(slow->outcome().failure->sent && slow->outcome().attempt == 7);
    CHECK(channel->orphaned() == 1 && channel->in_flight() == 0);
    auto* next = new Request;
    const SubmitResult after = submit(*channel, *next, frame("next"));
    CHECK(after.stream != sent.stream);
    CHECK(next->wait());
    CHECK(next->body().substr(4) == "next");
    go = true;
    CHECK(testing::eventually([&] { return channel->orphaned() == 0; }));
    CHECK(slow->outcomes() == 1);
    release(slow);
    release(next);
}

TEST(timeouts_of_many_lengths) {
    Server server([](int fd) {
        Header header;
        std::string body;
        while (read_frame(fd, &header, &body)) {
        }
    });
    Events events;
    Client client;
    auto channel = client.connected(server.port(), events);
    std::vector<Request*> requests;
    std::mt19937 random(4);
    const Nanos start = monotonic_now();
    for (int i = 0; i < 300; ++i) {
        requests.push_back(new Request);
        submit(*channel, *requests.back(), frame("x"), 0.001 * static_cast<double>(random() % 300));
    }
    for (Request* request : requests) {
        CHECK(request->wait());
        CHECK(request->outcome().failure->kind == FailureKind::TimedOut);
        release(request);
    }
    CHECK(monotonic_now() - start < 20 * kSecond);
    CHECK(channel->orphaned() == 300);
}

TEST(requests_that_end_unsent_are_never_sent) {
    std::atomic<bool> go{false};
    std::atomic<int> seen{0};
    Server server([&](int fd) {
        while (!go) testing::pause_ms(1);
        Header header;
        std::string body;
        while (read_frame(fd, &header, &body)) {
            if (body == "marked") ++seen;
            write_all(fd, answer("", header.stream));
        }
    });
    Events events;
    Client client;
    auto channel = client.connected(server.port(), events);
    std::vector<Request*> fillers;
    const std::string big(1 << 20, 'x');
    for (int i = 0; i < 24; ++i) {  // more than socket buffers take
        fillers.push_back(new Request);
        submit(*channel, *fillers.back(), frame(big));
    }
    auto* timed_out = new Request;
    auto* given_up = new Request;
    auto* kept = new Request;
    submit(*channel, *timed_out, frame("marked"), 0.05);
    const SubmitResult second = submit(*channel, *given_up, frame("marked"));
    submit(*channel, *kept, frame("kept"));
    CHECK(channel->orphan(second.stream, &given_up->core, 0));
    CHECK(!channel->orphan(second.stream, &given_up->core, 0));
    release(given_up);  // the stream's reference
    CHECK(timed_out->wait());
    CHECK(timed_out->outcome().failure->kind == FailureKind::TimedOut && !timed_out->outcome().failure->sent);
    go = true;
    CHECK(kept->wait());
    CHECK(!kept->outcome().failure && seen == 0);
    for (Request* request : fillers) {
        CHECK(request->wait());
        CHECK(!request->outcome().failure);
        release(request);
    }
    CHECK(channel->in_flight() == 0 && channel->orphaned() == 0);
    for (Request* request : {timed_out, given_up, kept}) release(request);
}

TEST(a_paused_peer_is_no_error_and_loses_nothing) {
    std::atomic<bool> go{false};
    Server server([&](int fd) {
        while (!go) testing::pause_ms(1);
        echo(fd);
    });
    for (const char* backend : kPollers) {
        go = false;
        Events events;
        Client client(backend);
        auto channel = client.connected(server.port(), events);
        std::vector<Request*> requests;
        for (int i = 0; i < 400; ++i) {
            requests.push_back(new Request);
            CHECK(
                submit(*channel, *requests.back(), frame(std::string(50000, static_cast<char>(i)))).status ==
                SubmitStatus::Accepted);
        }
        CHECK(channel->in_flight() == 400);
        go = true;
        for (size_t i = 0; i < requests.size(); ++i) {
            CHECK(requests[i]->wait());
            CHECK(requests[i]->body().substr(4) == std::string(50000, static_cast<char>(i)));
            release(requests[i]);
        }
    }
}

TEST(streams_run_out) {
    Server server([](int fd) {
        Header header;
        std::string body;
        while (read_frame(fd, &header, &body)) {
        }
    });
    Events events;
    Client client;
    auto channel = client.connected(server.port(), events);
    channel->set_max_requests(1000);
    auto* request = new Request;
    request->on_outcome = [](Request& self) { self.take_all(); };
    for (int i = 0; i < 1000; ++i)
        CHECK(submit(*channel, *request, frame("x")).status == SubmitStatus::Accepted);
    CHECK(submit(*channel, *request, frame("x")).status == SubmitStatus::Busy);
    client.stop();
    CHECK(testing::eventually([&] { return request->outcomes() == 1000; }));
    release(request);
    channel = nullptr;
    nothing_is_left();
}

TEST(events_reach_the_handler) {
    Server server([](int fd) {
        for (int i = 0; i < 3; ++i) write_all(fd, frame("event", kEvent, 0x84, -1));
        Header header;
        std::string body;
        read_frame(fd, &header, &body);
    });
    Events events;
    Client client;
    auto channel = client.connected(server.port(), events);
    CHECK(testing::eventually([&] { return events.events == 3; }));
}

TEST(requests_before_the_connection_is_open) {
    Server server(echo);
    Events events;
    Client client;
    auto channel = client.connect(server.port(), events);
    auto* request = new Request;
    CHECK(submit(*channel, *request, frame("early")).status == SubmitStatus::Accepted);
    CHECK(request->wait());
    CHECK(request->body().substr(4) == "early");
    release(request);
}

TEST(large_frames_both_ways) {
    Server server(echo);
    Events events;
    Client client;
    auto channel = client.connected(server.port(), events);
    std::mt19937 random(5);
    for (const size_t size : {100, 16000, 17000, 131072, 1 << 20, 9 << 20}) {
        std::string text(size, '\0');
        for (size_t i = 0; i < size; i += 7) text[i] = static_cast<char>(random());
        auto* request = new Request;
        submit(*channel, *request, frame(text));
        CHECK(request->wait());
        CHECK(request->body().substr(4) == text);
        release(request);
    }
}

TEST(segments_on_the_wire) {
    Server server([](int fd) {
        Header header;
        std::string body;
        CHECK(read_frame(fd, &header, &body));  // the legacy part
        write_all(fd, answer(body, header.stream, 5));
        {
            SegmentDecoder decoder(nullptr);
            std::vector<uint8_t> input(70000);
            // Requests have no direction bit; it is added so that the splitter of answers can be used.
            std::string plain;
            while (true) {
                uint8_t head[6];
                if (!read_exact(fd, head, sizeof head)) break;
                const size_t size = (head[0] | head[1] << 8 | head[2] << 16) & kMaxPayload;
                std::string payload(size + 4, '\0');
                if (!read_exact(fd, payload.data(), payload.size())) break;
                plain += payload.substr(0, size);
                while (plain.size() >= kHeaderSize) {
                    const Header request = Header::parse(reinterpret_cast<const uint8_t*>(plain.data()));
                    const size_t whole = kHeaderSize + static_cast<size_t>(request.length);
                    if (plain.size() < whole) break;
                    const std::string reply =
                        answer(plain.substr(kHeaderSize, whole - kHeaderSize), request.stream, 5);
                    plain.erase(0, whole);
                    Buffer wire;
                    encode_segments(reinterpret_cast<const uint8_t*>(reply.data()), reply.size(), wire);
                    write_all(fd, std::string(wire.begin(), wire.end()));
                }
            }
        }
    });
    Events events;
    Client client;
    auto channel = client.connected(server.port(), events);
    std::atomic<bool> enabled{false};
    auto* startup = new Request;
    startup->on_outcome = [&](Request& self) {
        self.take_all();
        CHECK(channel->enable_segments(false));
        enabled = true;
    };
    {
        RuntimeLock lock(runtime_mutex);
        Ref<CompletionQueue> queue;
        startup->core.set_eager(&queue);
    }
    submit(*channel, *startup, frame("startup", 0x01, 5));
    CHECK(testing::eventually([&] { return enabled.load(); }));
    std::vector<std::pair<Request*, std::string>> requests;
    for (int i = 0; i < 100; ++i) {
        requests.emplace_back(new Request, std::string(i % 10 ? 200 : 300000, static_cast<char>(i)));
        submit(*channel, *requests.back().first, frame(requests.back().second, 0x07, 5));
    }
    for (auto& [request, text] : requests) {
        CHECK(request->wait());
        CHECK(request->body().substr(4) == text);
        release(request);
    }
    release(startup);
}

TEST(byte_filters) {
    const auto flip = [](std::string text) {
        for (char& c : text) c = static_cast<char>(~c);
        return text;
    };
    Server server([&](int fd) {
        std::string hello(5, '\0');
        CHECK(read_exact(fd, hello.data(), 5) && hello == "hello");
        for (const char c : std::string("welcome")) write_all(fd, std::string(1, c));
        std::string header(9, '\0');
        while (read_exact(fd, header.data(), 9)) {
            const Header parsed = Header::parse(reinterpret_cast<const uint8_t*>(flip(header).data()));
            std::string body(static_cast<size_t>(parsed.length), '\0');
            if (!read_exact(fd, body.data(), body.size())) return;
            write_all(fd, flip(answer(flip(body), parsed.stream)));
        }
    });
    FlipFilter filter;
    Events events;
    Client client;
    auto channel = client.connected(server.port(), events, &filter);
    std::vector<std::pair<Request*, std::string>> requests;
    for (int i = 0; i < 300; ++i) {
        requests.emplace_back(new Request, std::string(i % 50 ? 100 : 200000, static_cast<char>(i)));
        submit(*channel, *requests.back().first, frame(requests.back().second));
    }
    for (auto& [request, text] : requests) {
        CHECK(request->wait());
        CHECK(request->body().substr(4) == text);
        release(request);
    }
    {
        RuntimeLock lock(runtime_mutex);
        filter.fail_receive = true;
    }
    auto* last = new Request;
    submit(*channel, *last, frame("x"));
    CHECK(last->wait());
    CHECK(last->outcome().failure && events.kind == Reason::Kind::Runtime &&
          events.message == "the filter cannot read this");
    release(last);
}

}  // namespace channel_test
