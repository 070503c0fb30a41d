#include "ingest/match.h"

namespace fastcql::ingest {

namespace {

class Matcher {
public:
    explicit Matcher(std::vector<std::string>& problems) : problems_(problems) {}

    bool match(const Target& target, const Source& source, const std::string& path, Conversion& out);

private:
    bool no(const std::string& path, const std::string& why) {
        problems_.push_back(path + ": " + why);
        return false;
    }
    bool mismatch(const Target& target, const Source& source, const std::string& path);
    bool indirect(const Target& target, const Source& source, const std::string& path, Conversion& out);
    bool encrypted(const Target& target, const Source& source, const std::string& path, Conversion& out);
    bool items(const Target& target, const Source& source, const std::string& path, Conversion& out);
    bool pairs(const Target& target, const Source& source, const std::string& path, Conversion& out);
    bool by_position(const Target& target, const Source& source, const std::string& path, Conversion& out);
    bool by_name(const Target& target, const Source& source, const std::string& path, Conversion& out);

    std::vector<std::string>& problems_;
};

Way way_of_width(size_t width) {
    return width == 1 ? Way::One : width == 2 ? Way::Two : width == 4 ? Way::Four : Way::Eight;
}

bool is_number(const Source& source) { return source.shape == Shape::Integer || source.shape == Shape::Floating; }

Way to_integer(const Source& source, uint8_t width) {
    if (source.shape == Shape::Decimal && source.scale == 0) return Way::Integer;
    if (source.shape != Shape::Integer) return Way::Nulls;
    return source.width == width && source.is_signed ? way_of_width(width) : Way::Integer;
}

Way to_floating(const Source& source, uint8_t width) {
    if (!is_number(source)) return Way::Nulls;
    if (source.shape == Shape::Floating && source.width == width) return way_of_width(width);
    return width == 4 ? Way::Float : Way::Double;
}

Way to_uuid(const Source& source) {
    if (source.shape == Shape::Text) return Way::UuidText;
    if (source.shape != Shape::Binary) return Way::Nulls;
    if (source.layout != Layout::Fixed) return Way::UuidBytes;
    return source.size == 16 ? Way::Sixteen : Way::Nulls;
}

Way to_inet(const Source& source) {
    if (source.shape == Shape::Text) return Way::InetText;
    if (source.shape != Shape::Binary) return Way::Nulls;
    const bool fits = source.layout != Layout::Fixed || source.size == 4 || source.size == 16;
    return fits ? Way::InetBytes : Way::Nulls;
}

Way to_timestamp(const Source& source) {
    if (source.shape == Shape::Timestamp) return source.unit == 1000 ? Way::Eight : Way::Timestamp;
    return source.shape == Shape::Date ? Way::Timestamp : Way::Nulls;
}

// True without a zone, or with one in which days begin as in UTC.
bool is_utc(const Source& source) {
    if (!source.is_zoned) return true;
    const std::string zone = source.format.substr(4);
    for (const char* name : {"UTC", "Etc/UTC", "Z", "+00:00", "GMT", "Etc/GMT"}) {
        if (zone == name) return true;
    }
    return false;
}

Way to_date(const Source& source) {
    if (source.shape == Shape::Date) return source.width == 4 ? Way::Day : Way::Date;
    return source.shape == Shape::Timestamp && is_utc(source) ? Way::Date : Way::Nulls;
}

bool is_exact_number(const Source& source) {
    return source.shape == Shape::Integer || source.shape == Shape::Decimal || source.shape == Shape::Text;
}

// Conversion to a type without parameters; Nulls if there is none.
Way scalar_way(Cql cql, const Source& source) {
    switch (cql) {
        case Cql::Tinyint: return to_integer(source, 1);
        case Cql::Smallint: return to_integer(source, 2);
        case Cql::Int: return to_integer(source, 4);
        case Cql::Bigint: return to_integer(source, 8);
        case Cql::Float: return to_floating(source, 4);
        case Cql::Double: return to_floating(source, 8);
        case Cql::Boolean: return source.shape == Shape::Boolean ? Way::Boolean : Way::Nulls;
        case Cql::Text:
        case Cql::Varchar: return source.shape == Shape::Text ? Way::Text : Way::Nulls;
        case Cql::Ascii: return source.shape == Shape::Text ? Way::Ascii : Way::Nulls;
        case Cql::Custom:
        case Cql::Blob: return source.shape == Shape::Binary ? Way::Bytes : Way::Nulls;
        case Cql::Uuid:
        case Cql::Timeuuid: return to_uuid(source);
        case Cql::Inet: return to_inet(source);
        case Cql::Timestamp: return to_timestamp(source);
        case Cql::Date: return to_date(source);
        case Cql::Time: return source.shape == Shape::Time ? Way::Time : Way::Nulls;
        case Cql::Duration:
            return source.shape >= Shape::Elapsed && source.shape <= Shape::MonthDayNano ? Way::Duration : Way::Nulls;
        case Cql::Varint: return is_exact_number(source) ? Way::Varint : Way::Nulls;
        case Cql::Decimal: return is_exact_number(source) ? Way::Decimal : Way::Nulls;
        default: return Way::Nulls;
    }
}

bool is_time(Cql cql) { return cql == Cql::Timestamp || cql == Cql::Date || cql == Cql::Time; }

bool Matcher::mismatch(const Target& target, const Source& source, const std::string& path) {
    std::string hint;
    if (target.cql == Cql::Counter) hint = ": counters are updated by additions, they cannot be written";
    if (target.cql == Cql::Encrypted) hint = ": the column is encrypted";
    if (target.cql == Cql::Date && source.is_zoned) hint = ": its days are those of another zone: cast it to a date";
    if (is_time(target.cql) && source.shape == Shape::Integer) hint = ": cast it to an Arrow type with a time unit";
    return no(path, source.text() + " cannot be written as " + target.text + " without loss" + hint);
}

bool Matcher::indirect(const Target& target, const Source& source, const std::string& path, Conversion& out) {
    const bool is_dictionary = source.shape == Shape::Dictionary;
    out.way = is_dictionary ? Way::Dictionary : Way::Runs;
    out.children.resize(1);
    out.children[0].from = is_dictionary ? 0 : 1;
    return match(target, source.children[is_dictionary ? 0 : 1], path, out.children[0]);
}

// Values of the inner type, which a cipher encrypts; extension metadata of the source is ignored.
bool Matcher::encrypted(const Target& target, const Source& source, const std::string& path, Conversion& out) {
    if (target.children.empty()) return mismatch(target, source, path);
    out.way = Way::Sealed;
    out.children.resize(1);
    out.children[0].from = 0;
    return match(target.children[0], source, path, out.children[0]);
}

// Lists, sets and vectors.
bool Matcher::items(const Target& target, const Source& source, const std::string& path, Conversion& out) {
    const bool is_vector = target.cql == Cql::Vector;
    if (source.shape != Shape::List) return mismatch(target, source, path);
    if (is_vector && source.layout == Layout::Fixed && source.size != target.dimensions) return mismatch(target, source, path);
    out.way = is_vector ? Way::Vector : Way::List;
    out.children.resize(1);
    out.children[0].from = 0;
    return match(target.children[0], source.children[0], path + ", items", out.children[0]);
}

// Of a map, or of a list of pairs, from producers without a map type.
bool Matcher::pairs(const Target& target, const Source& source, const std::string& path, Conversion& out) {
    const bool is_list = source.shape == Shape::List && source.children[0].shape == Shape::Struct;
    if (source.shape != Shape::Map && !(is_list && source.children[0].children.size() == 2)) return mismatch(target, source, path);
    const Source& entries = source.children[0];
    out.way = Way::Map;
    out.children.resize(1);
    Conversion& pair = out.children[0];
    pair.way = Way::Pair;
    pair.from = 0;
    pair.target = &target;
    pair.source = &entries;
    pair.children.resize(2);
    pair.children[0].from = 0;
    pair.children[1].from = 1;
    const bool keys = match(target.children[0], entries.children[0], path + ", keys", pair.children[0]);
    return match(target.children[1], entries.children[1], path + ", values", pair.children[1]) && keys;
}

bool Matcher::by_position(const Target& target, const Source& source, const std::string& path, Conversion& out) {
    const size_t count = target.children.size();
    if (source.shape != Shape::Struct || source.children.size() != count) return mismatch(target, source, path);
    out.way = Way::Struct;
    out.children.resize(count);
    bool fits = true;
    for (size_t i = 0; i < count; ++i) {
        out.children[i].from = static_cast<int32_t>(i);
        const std::string field = path + ", field " + std::to_string(i);
        fits = match(target.children[i], source.children[i], field, out.children[i]) && fits;
    }
    return fits;
}

bool Matcher::by_name(const Target& target, const Source& source, const std::string& path, Conversion& out) {
    if (source.shape != Shape::Struct) return mismatch(target, source, path);
    out.way = Way::Struct;
    out.children.resize(target.children.size());
    for (size_t i = 0; i < target.children.size(); ++i) out.children[i].target = &target.children[i];
    bool fits = true;
    for (size_t k = 0; k < source.children.size(); ++k) {
        const std::string& name = source.children[k].name;
        size_t i = 0;
        while (i < target.children.size() && target.children[i].name != name) ++i;
        if (i == target.children.size()) {
            fits = no(path, target.text + " has no field '" + name + "'");
        } else if (out.children[i].from >= 0) {
            fits = no(path, "duplicate field '" + name + "'");
        } else {
            out.children[i].from = static_cast<int32_t>(k);
            const std::string field = path + ", field '" + name + "'";
            fits = match(target.children[i], source.children[k], field, out.children[i]) && fits;
        }
    }
    return fits;
}

bool Matcher::match(const Target& target, const Source& source, const std::string& path, Conversion& out) {
    out.target = &target;
    out.source = &source;
    if (target.cql == Cql::Counter) return mismatch(target, source, path);
    if (source.shape == Shape::Null) return true;
    if (target.cql == Cql::Encrypted) return encrypted(target, source, path, out);
    if (source.shape == Shape::Dictionary || source.shape == Shape::RunEnds) return indirect(target, source, path, out);
    switch (target.cql) {
        case Cql::List:
        case Cql::Set:
        case Cql::Vector: return items(target, source, path, out);
        case Cql::Map: return pairs(target, source, path, out);
        case Cql::Tuple: return by_position(target, source, path, out);
        case Cql::Udt: return by_name(target, source, path, out);
        default: out.way = scalar_way(target.cql, source);
    }
    return out.way != Way::Nulls || mismatch(target, source, path);
}

}  // namespace

bool match(
    const Target& target, const Source& source, const std::string& path, Conversion& out, std::vector<std::string>& problems
) {
    return Matcher(problems).match(target, source, path, out);
}

}  // namespace fastcql::ingest
