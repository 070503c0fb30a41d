// Rows as requests: the table of writes, frames and batches. Without a socket.
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "testing.h"
#include "transport/writes.h"

namespace writes_test {

using namespace fastcql;

namespace {

std::string value(const std::string& bytes) {
    std::string out(4, '\0');
    store32(reinterpret_cast<uint8_t*>(out.data()), static_cast<uint32_t>(bytes.size()));
    return out + bytes;
}

// Rows of (partition, clustering, text).
struct Listed final : RowSource {
    struct Row {
        std::string partition, clustering, text;
    };
    std::vector<Row> all;
    size_t bad = SIZE_MAX;
    bool keys_are_equal = false;
    bool no_memory = false;  // for hashes
    std::vector<size_t> written;

    size_t rows() const noexcept override { return all.size(); }
    bool write(size_t row, ByteBuffer& out, int64_t& token) noexcept override {
        written.push_back(row);
        if (row == bad) return false;
        const std::string bytes = value(all[row].partition) + value(all[row].clustering) + value(all[row].text);
        out.put(bytes.data(), bytes.size());
        token = all[row].partition[0];
        return true;
    }
    bool same_partition(size_t left, size_t right) noexcept override {
        return all[left].partition == all[right].partition;
    }
    bool clustering_hash(const uint8_t* values, size_t, uint64_t& hash) const noexcept override {
        if (no_memory) return false;
        hash = 1;
        if (keys_are_equal) return true;
        const uint8_t* key = values + 4 + load_i32(values);
        hash = std::hash<std::string>()(std::string(reinterpret_cast<const char*>(key) + 4, load32(key)));
        return true;
    }
    const std::string& failure() const noexcept override { return reason; }
    std::string reason = "column text, row 1";
};

WriteParts parts(size_t max_rows = 1) {
    WriteParts made;
    made.head = std::string(9, 'h') + "HEAD";
    made.values = "|ttl";
    made.tail = "|tail";
    made.batch_head = std::string(9, 'b') + "BATCH";
    made.entry = "<e>";
    made.batch_tail = "|end";
    made.max_rows = max_rows;
    made.max_bytes = 100;
    made.overhead = 5;
    return made;
}

std::string text_of(WriteFrames& frames) {
    CHECK(frames.close(0x4142434445464748, -1));
    const std::string found(reinterpret_cast<const char*>(frames.data()), frames.size());
    CHECK(load32(frames.data() + 5) == found.size() - 9);
    return found.substr(9);
}

std::string one(const Listed::Row& row) {
    return value(row.partition) + value(row.clustering) + value(row.text);
}

std::string alone(const Listed::Row& row) { return "HEAD" + one(row) + "|ttl|tailABCDEFGH"; }

std::string batch(const std::vector<Listed::Row>& rows) {
    std::string out = "BATCH" + std::string(1, '\0') + std::string(1, static_cast<char>(rows.size()));
    for (const Listed::Row& row : rows) out += "<e>" + one(row) + "|ttl";
    return out + "|endABCDEFGH";
}

}  // namespace

TEST(numbers_of_writes_are_used_again) {
    WriteTable table;
    const uint32_t first = table.open(), second = table.open();
    CHECK(first != second);
    CHECK(table.open_count() == 2);
    table.find(first)->row = 7;
    table.close(first);
    CHECK(table.find(first) == nullptr);
    CHECK(table.find(99) == nullptr);
    table.close(first);  // closed already
    CHECK(table.open_count() == 1);
    CHECK(table.open() == first);
    CHECK(table.find(first)->row == 0);
    CHECK(table.find(first)->state == Write::State::Held);
    CHECK(table.size() == 2);
}

TEST(sources_are_dropped_when_all_of_their_rows_are_done_oldest_first) {
    Listed two, three;
    two.all.resize(2);
    three.all.resize(3);
    Sources sources;
    const uint32_t a = sources.add(&two, 0), b = sources.add(&three, 2);
    CHECK(!sources.drop());
    sources.done(b, 3);
    CHECK(!sources.drop());
    sources.done(a, 1);
    CHECK(!sources.drop());
    CHECK(sources.find(b)->first == 2);
    sources.done(a, 1);
    CHECK(sources.drop());
    CHECK(sources.find(a) == nullptr);
    CHECK(sources.find(b)->source == &three);
    CHECK(sources.drop());
    CHECK(!sources.drop());
    CHECK(sources.add(&two, 5) == b + 1);
    sources.clear();
    CHECK(sources.find(b + 1) == nullptr);
    CHECK(sources.add(&two, 5) == b + 2);
}

TEST(rows_are_requests_in_their_order) {
    Listed source;
    source.all = {{"a", "1", "x"}, {"a", "2", "y"}, {"b", "1", "z"}};
    WriteFrames frames(parts());
    CHECK(frames.make() == WriteFrames::FrameResult::End);
    frames.begin(&source);
    for (size_t row = 0; row < 3; ++row) {
        CHECK(frames.make() == WriteFrames::FrameResult::Request);
        CHECK(frames.at() == row && frames.count() == 1);
        CHECK(frames.token() == source.all[row].partition[0]);
        CHECK(text_of(frames) == alone(source.all[row]));
    }
    CHECK(frames.at_end());
    CHECK(frames.make() == WriteFrames::FrameResult::End);
}

TEST(the_last_byte_is_of_requests_alone) {
    Listed source;
    source.all = {{"a", "1", "x"}, {"a", "2", "y"}};
    WriteFrames frames(parts());
    frames.begin(&source);
    CHECK(frames.make() == WriteFrames::FrameResult::Request);
    CHECK(frames.close(1, 0x5a));
    CHECK(frames.data()[frames.size() - 1] == 0x5a);
    CHECK(load32(frames.data() + 5) == frames.size() - 9);
    const size_t size = frames.size();
    CHECK(frames.close(2, -1));  // once more
    CHECK(frames.size() == size - 1);
    CHECK(frames.data()[frames.size() - 1] == 2);
}

TEST(neighbours_of_one_partition_are_a_batch) {
    Listed source;
    source.all = {{"a", "1", "x"}, {"a", "2", "y"}, {"a", "3", "z"}, {"b", "1", "u"}, {"c", "1", "v"}, {"c", "2", "w"}};
    WriteFrames frames(parts(10));
    frames.begin(&source);
    CHECK(frames.make() == WriteFrames::FrameResult::Request);
    CHECK(frames.at() == 0 && frames.count() == 3 && frames.token() == 'a' && frames.is_batch());
    CHECK(text_of(frames) == batch({source.all[0], source.all[1], source.all[2]}));
    CHECK(frames.make() == WriteFrames::FrameResult::Request);
    CHECK(frames.at() == 3 && frames.count() == 1 && frames.token() == 'b');
    CHECK(text_of(frames) == alone(source.all[3]));
    CHECK(frames.make() == WriteFrames::FrameResult::Request);
    CHECK(frames.at() == 4 && frames.count() == 2 && frames.token() == 'c');
    CHECK(text_of(frames) == batch({source.all[4], source.all[5]}));
    CHECK(frames.make() == WriteFrames::FrameResult::End);
    CHECK(source.written == std::vector<size_t>({0, 1, 2, 3, 4, 5}));  // each once
}

TEST(a_row_that_is_written_twice_is_not_in_one_batch) {
    Listed source;  // all in it have one timestamp
    source.all = {{"a", "1", "x"}, {"a", "2", "y"}, {"a", "1", "newer"}};
    WriteFrames frames(parts(10));
    frames.begin(&source);
    CHECK(frames.make() == WriteFrames::FrameResult::Request);
    CHECK(frames.count() == 2);
    CHECK(frames.make() == WriteFrames::FrameResult::Request);
    CHECK(frames.at() == 2 && frames.count() == 1);
    CHECK(text_of(frames) == alone(source.all[2]));
}

TEST(rows_whose_keys_may_be_equal_are_no_batch) {
    Listed source;
    source.all = {{"a", "1", "x"}, {"a", "2", "y"}};
    source.keys_are_equal = true;
    WriteFrames frames(parts(10));
    frames.begin(&source);
    CHECK(frames.make() == WriteFrames::FrameResult::Request);
    CHECK(frames.count() == 1);
}

TEST(a_row_whose_key_cannot_be_hashed_is_sent_alone) {
    Listed source;
    source.all = {{"a", "1", "x"}, {"a", "2", "y"}};
    source.no_memory = true;
    WriteFrames frames(parts(10));
    frames.begin(&source);
    for (int i = 0; i < 2; ++i) {
        CHECK(frames.make() == WriteFrames::FrameResult::Request);
        CHECK(frames.count() == 1);
    }
    CHECK(frames.make() == WriteFrames::FrameResult::End);
}

TEST(batches_have_limits) {
    Listed source;  // 23 bytes each, and 5
    for (int i = 0; i < 9; ++i) source.all.push_back({"a", std::to_string(i), "123456789"});
    WriteFrames frames(parts(10));
    frames.begin(&source);
    CHECK(frames.make() == WriteFrames::FrameResult::Request);
    CHECK(frames.count() == 3);
    WriteFrames few(parts(2));
    few.begin(&source);
    for (size_t at : {0u, 2u, 4u, 6u, 8u}) {
        CHECK(few.make() == WriteFrames::FrameResult::Request);
        CHECK(few.at() == at && few.count() == (at == 8 ? 1u : 2u));
    }
    CHECK(few.at_end());
    source.all.insert(source.all.begin(), {"a", "large", std::string(500, 'x')});
    frames.begin(&source);
    CHECK(frames.make() == WriteFrames::FrameResult::Request);
    CHECK(frames.count() == 1);
}

TEST(what_cannot_be_written_is_passed_over) {
    for (const size_t most : {1u, 10u}) {
        Listed source;
        source.all = {{"a", "1", "x"}, {"a", "2", "y"}, {"a", "3", "z"}};
        source.bad = 1;
        WriteFrames frames(parts(most));
        frames.begin(&source);
        CHECK(frames.make() == WriteFrames::FrameResult::Request);
        CHECK(frames.count() == 1);
        CHECK(text_of(frames) == alone(source.all[0]));
        CHECK(frames.make() == WriteFrames::FrameResult::Failed);
        CHECK(frames.at() == 1 && frames.count() == 1);
        CHECK(source.failure() == "column text, row 1");
        CHECK(frames.make() == WriteFrames::FrameResult::Request);
        CHECK(frames.at() == 2);
        CHECK(text_of(frames) == alone(source.all[2]));
        CHECK(frames.make() == WriteFrames::FrameResult::End);
    }
}

TEST(requests_are_made_again_as_they_were) {
    Listed source;
    source.all = {{"a", "1", "x"}, {"a", "2", "y"}, {"b", "1", "z"}};
    WriteFrames frames(parts(10)), again(parts(10));
    frames.begin(&source);
    CHECK(frames.make() == WriteFrames::FrameResult::Request);
    const std::string first = text_of(frames);
    CHECK(frames.make() == WriteFrames::FrameResult::Request);
    CHECK(again.build_again(source, 0, 2) == WriteFrames::FrameResult::Request);
    CHECK(again.token() == 'a');
    CHECK(text_of(again) == first);
    CHECK(again.build_again(source, 1, 1) == WriteFrames::FrameResult::Request);
    CHECK(text_of(again) == alone(source.all[1]));
    CHECK(text_of(frames) == alone(source.all[2]));
    source.bad = 1;
    CHECK(again.build_again(source, 0, 2) == WriteFrames::FrameResult::Failed);
}

}  // namespace writes_test
