// Arrow source types: their conversion to CQL types, and the content of a schema, read and checked.
#include <cstdlib>
#include <cstring>

#include "codec/text.h"
#include "ingest/source.h"

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
    bool field_pairs(const Target& target, const Source& source, const std::string& path, Conversion& out);
    bool by_position(const Target& target, const Source& source, const std::string& path, Conversion& out);
    bool by_name(const Target& target, const Source& source, const std::string& path, Conversion& out);

    std::vector<std::string>& problems_;
};

Method method_of_width(size_t width) {
    return width == 1 ? Method::One : width == 2 ? Method::Two : width == 4 ? Method::Four : Method::Eight;
}

bool is_number(const Source& source) { return source.shape == Shape::Integer || source.shape == Shape::Floating; }

Method to_integer(const Source& source, uint8_t width) {
    if (source.shape == Shape::Decimal && source.scale == 0) return Method::Integer;
    if (source.shape == Shape::Floating) return Method::Whole;
    if (source.shape == Shape::Text) return Method::IntegerText;
    if (source.shape != Shape::Integer) return Method::Nulls;
    return source.width == width && source.is_signed ? method_of_width(width) : Method::Integer;
}

Method to_floating(const Source& source, uint8_t width) {
    if (source.shape == Shape::Text) return width == 4 ? Method::FloatText : Method::DoubleText;
    if (!is_number(source)) return Method::Nulls;
    if (source.shape == Shape::Floating && source.width == width) return method_of_width(width);
    return width == 4 ? Method::Float : Method::Double;
}

Method to_uuid(const Source& source) {
    if (source.shape == Shape::Text) return Method::UuidText;
    if (source.shape != Shape::Binary) return Method::Nulls;
    if (source.layout != Layout::Fixed) return Method::UuidBytes;
    return source.size == 16 ? Method::Sixteen : Method::Nulls;
}

Method to_inet(const Source& source) {
    if (source.shape == Shape::Text) return Method::InetText;
    if (source.shape != Shape::Binary) return Method::Nulls;
    const bool fits = source.layout != Layout::Fixed || source.size == 4 || source.size == 16;
    return fits ? Method::InetBytes : Method::Nulls;
}

Method to_boolean(const Source& source) {
    if (source.shape == Shape::Text) return Method::BooleanText;
    return source.shape == Shape::Boolean ? Method::Boolean : Method::Nulls;
}

Method to_timestamp(const Source& source) {
    if (source.shape == Shape::Text) return Method::TimestampText;
    if (source.shape == Shape::Timestamp) return source.unit == 1000 ? Method::Eight : Method::Timestamp;
    return source.shape == Shape::Date ? Method::Timestamp : Method::Nulls;
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

Method to_date(const Source& source) {
    if (source.shape == Shape::Text) return Method::DateText;
    if (source.shape == Shape::Date) return source.width == 4 ? Method::Day : Method::Date;
    return source.shape == Shape::Timestamp && is_utc(source) ? Method::Date : Method::Nulls;
}

Method to_time(const Source& source) {
    if (source.shape == Shape::Text) return Method::TimeText;
    return source.shape == Shape::Time ? Method::Time : Method::Nulls;
}

bool is_exact_number(const Source& source) {
    return source.shape == Shape::Integer || source.shape == Shape::Decimal || source.shape == Shape::Text;
}

// Conversion to a type without parameters; Nulls if there is none.
Method scalar_method(Cql cql, const Source& source) {
    switch (cql) {
        case Cql::Tinyint: return to_integer(source, 1);
        case Cql::Smallint: return to_integer(source, 2);
        case Cql::Int: return to_integer(source, 4);
        case Cql::Bigint: return to_integer(source, 8);
        case Cql::Float: return to_floating(source, 4);
        case Cql::Double: return to_floating(source, 8);
        case Cql::Boolean: return to_boolean(source);
        case Cql::Text:
        case Cql::Varchar: return source.shape == Shape::Text ? Method::Text : Method::Nulls;
        case Cql::Ascii: return source.shape == Shape::Text ? Method::Ascii : Method::Nulls;
        case Cql::Custom:
        case Cql::Blob: return source.shape == Shape::Binary ? Method::Bytes : Method::Nulls;
        case Cql::Uuid:
        case Cql::Timeuuid: return to_uuid(source);
        case Cql::Inet: return to_inet(source);
        case Cql::Timestamp: return to_timestamp(source);
        case Cql::Date: return to_date(source);
        case Cql::Time: return to_time(source);
        case Cql::Duration:
            return source.shape >= Shape::Elapsed && source.shape <= Shape::MonthDayNano ? Method::Duration : Method::Nulls;
        case Cql::Varint:
            if (source.shape == Shape::Floating) return Method::Whole;
            return is_exact_number(source) ? Method::Varint : Method::Nulls;
        case Cql::Decimal: return is_exact_number(source) ? Method::Decimal : Method::Nulls;
        default: return Method::Nulls;
    }
}

bool is_time(Cql cql) { return cql == Cql::Timestamp || cql == Cql::Date || cql == Cql::Time; }

bool Matcher::mismatch(const Target& target, const Source& source, const std::string& path) {
    std::string hint;
    if (target.cql == Cql::Counter) hint = ": counters are updated by additions, they cannot be written";
    if (target.cql == Cql::Encrypted) hint = ": the column is encrypted";
    if (target.cql == Cql::Date && source.is_zoned) hint = ": its days are those of another zone: cast it to a date";
    if (is_time(target.cql) && source.shape == Shape::Integer) hint = ": cast it to an Arrow type with a time unit";
    const bool is_real = target.cql == Cql::Float || target.cql == Cql::Double;
    if (is_real && source.shape == Shape::Decimal) hint = ": cast it to float64";
    if (target.cql == Cql::Decimal && source.shape == Shape::Floating) hint = ": cast it to decimals or strings";
    return no(path, source.text() + " cannot be written as " + target.text + " without loss" + hint);
}

bool Matcher::indirect(const Target& target, const Source& source, const std::string& path, Conversion& out) {
    const bool is_dictionary = source.shape == Shape::Dictionary;
    out.method = is_dictionary ? Method::Dictionary : Method::Runs;
    out.children.resize(1);
    out.children[0].from = is_dictionary ? 0 : 1;
    return match(target, source.children[is_dictionary ? 0 : 1], path, out.children[0]);
}

// Values of the inner type, which a cipher encrypts; extension metadata of the source is ignored.
bool Matcher::encrypted(const Target& target, const Source& source, const std::string& path, Conversion& out) {
    if (target.children.empty()) return mismatch(target, source, path);
    out.method = Method::Sealed;
    out.children.resize(1);
    out.children[0].from = 0;
    return match(target.children[0], source, path, out.children[0]);
}

// Lists, sets and vectors.
bool Matcher::items(const Target& target, const Source& source, const std::string& path, Conversion& out) {
    const bool is_vector = target.cql == Cql::Vector;
    if (source.shape != Shape::List) return mismatch(target, source, path);
    if (is_vector && source.layout == Layout::Fixed && source.size != target.dimensions) return mismatch(target, source, path);
    out.method = is_vector ? Method::Vector : Method::List;
    out.children.resize(1);
    out.children[0].from = 0;
    return match(target.children[0], source.children[0], path + ", items", out.children[0]);
}

// Of a map, or of a list of pairs, from producers without a map type.
bool Matcher::pairs(const Target& target, const Source& source, const std::string& path, Conversion& out) {
    if (source.shape == Shape::Struct) return field_pairs(target, source, path, out);
    const bool is_list = source.shape == Shape::List && source.children[0].shape == Shape::Struct;
    if (source.shape != Shape::Map && !(is_list && source.children[0].children.size() == 2)) return mismatch(target, source, path);
    const Source& entries = source.children[0];
    out.method = Method::Map;
    out.children.resize(1);
    Conversion& pair = out.children[0];
    pair.method = Method::Pair;
    pair.from = 0;
    pair.target = &target;
    pair.source = &entries;
    pair.children.resize(2);
    pair.children[0].from = 0;
    pair.children[1].from = 1;
    const bool keys = match(target.children[0], entries.children[0], path + ", keys", pair.children[0]);
    return match(target.children[1], entries.children[1], path + ", values", pair.children[1]) && keys;
}

// A map with keys of text, of a struct: the names of its fields are the keys, and a null field has no pair.
bool Matcher::field_pairs(const Target& target, const Source& source, const std::string& path, Conversion& out) {
    const Cql key = target.children[0].cql;
    if (key != Cql::Text && key != Cql::Varchar && key != Cql::Ascii) return mismatch(target, source, path);
    out.method = Method::FieldMap;
    out.children.resize(source.children.size());
    bool fits = true;
    for (size_t i = 0; i < source.children.size(); ++i) {
        const std::string& name = source.children[i].name;
        const std::string field = path + ", field '" + name + "'";
        if (key == Cql::Ascii && !is_ascii(reinterpret_cast<const uint8_t*>(name.data()), name.size())) {
            fits = no(field, "the name is not ASCII");
        }
        out.children[i].from = static_cast<int32_t>(i);
        fits = match(target.children[1], source.children[i], field, out.children[i]) && fits;
    }
    return fits;
}

bool Matcher::by_position(const Target& target, const Source& source, const std::string& path, Conversion& out) {
    const size_t count = target.children.size();
    if (source.shape == Shape::List) {
        if (source.layout == Layout::Fixed && static_cast<size_t>(source.size) != count) return mismatch(target, source, path);
        out.method = Method::ListFields;
        out.children.resize(count);
        bool fits = true;
        for (size_t i = 0; i < count; ++i) {
            out.children[i].from = 0;
            const std::string field = path + ", field " + std::to_string(i);
            fits = match(target.children[i], source.children[0], field, out.children[i]) && fits;
        }
        return fits;
    }
    if (source.shape != Shape::Struct || source.children.size() != count) return mismatch(target, source, path);
    out.method = Method::Struct;
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
    out.method = Method::Struct;
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
        default: out.method = scalar_method(target.cql, source);
    }
    return out.method != Method::Nulls || mismatch(target, source, path);
}

}  // namespace

bool match(
    const Target& target, const Source& source, const std::string& path, Conversion& out, std::vector<std::string>& problems
) {
    return Matcher(problems).match(target, source, path, out);
}

bool match_encoded(
    const Target& target, const Source& source, const std::string& path, Conversion& out, std::vector<std::string>& problems
) {
    out.target = &target;
    out.source = &source;
    if (source.shape != Shape::Binary) {
        problems.push_back(path + ": encoded values must be binary, not " + source.text());
        return false;
    }
    if (target.cql != Cql::Encrypted) {
        out.method = Method::Bytes;
        return true;
    }
    out.method = Method::Sealed;
    out.children.resize(1);
    out.children[0].from = 0;
    out.children[0].target = target.children.empty() ? &target : target.children.data();
    out.children[0].source = &source;
    out.children[0].method = Method::Bytes;
    return true;
}

// ---- content of a schema

namespace {

bool starts_with(const std::string& text, const char* prefix) { return text.compare(0, std::strlen(prefix), prefix) == 0; }

int64_t unit_of(char letter) {
    switch (letter) {
        case 's': return 1;
        case 'm': return 1000;
        case 'u': return 1000000;
        case 'n': return 1000000000;
        default: return 0;
    }
}

const char* name_of_unit(int64_t unit) { return unit == 1 ? "s" : unit == 1000 ? "ms" : unit == 1000000 ? "us" : "ns"; }

void set_number(Source& out, Shape shape, uint8_t width, bool is_signed = true) {
    out.shape = shape;
    out.width = width;
    out.is_signed = is_signed;
}

void set_bytes(Source& out, Shape shape, Layout layout) {
    out.shape = shape;
    out.layout = layout;
}

// Reads a decimal number at *at*, which moves behind it; false if there is none.
bool read_number(const char*& at, int64_t& out) {
    char* end = nullptr;
    out = std::strtoll(at, &end, 10);
    if (end == at) return false;
    at = end;
    return true;
}

bool read_decimal(const char* at, Source& out) {
    int64_t precision = 0, scale = 0, bits = 128;
    if (!read_number(at, precision) || *at++ != ',' || !read_number(at, scale)) return false;
    if (*at == ',' && (++at, !read_number(at, bits))) return false;
    if (*at || precision < 1 || precision > 76 || scale < -1000 || scale > 1000) return false;
    if (bits != 32 && bits != 64 && bits != 128 && bits != 256) return false;
    set_number(out, Shape::Decimal, static_cast<uint8_t>(bits / 8));
    out.precision = static_cast<int32_t>(precision);
    out.scale = static_cast<int32_t>(scale);
    return true;
}

bool read_one_letter(char letter, Source& out) {
    switch (letter) {
        case 'n': out.shape = Shape::Null; return true;
        case 'b': out.shape = Shape::Boolean; return true;
        case 'c': set_number(out, Shape::Integer, 1); return true;
        case 'C': set_number(out, Shape::Integer, 1, false); return true;
        case 's': set_number(out, Shape::Integer, 2); return true;
        case 'S': set_number(out, Shape::Integer, 2, false); return true;
        case 'i': set_number(out, Shape::Integer, 4); return true;
        case 'I': set_number(out, Shape::Integer, 4, false); return true;
        case 'l': set_number(out, Shape::Integer, 8); return true;
        case 'L': set_number(out, Shape::Integer, 8, false); return true;
        case 'e': set_number(out, Shape::Floating, 2); return true;
        case 'f': set_number(out, Shape::Floating, 4); return true;
        case 'g': set_number(out, Shape::Floating, 8); return true;
        case 'u': set_bytes(out, Shape::Text, Layout::Offsets32); return true;
        case 'U': set_bytes(out, Shape::Text, Layout::Offsets64); return true;
        case 'z': set_bytes(out, Shape::Binary, Layout::Offsets32); return true;
        case 'Z': set_bytes(out, Shape::Binary, Layout::Offsets64); return true;
        default: return false;
    }
}

// Reads formats of times; for others *out* is unchanged.
bool read_time(const std::string& format, Source& out) {
    const char kind = format[1], unit = format[2];
    if (kind == 'd' && (unit == 'D' || unit == 'm')) {
        set_number(out, Shape::Date, unit == 'D' ? 4 : 8);
        return true;
    }
    if (kind == 'i') {
        if (unit == 'M') set_number(out, Shape::Months, 4);
        if (unit == 'D') set_number(out, Shape::DayTime, 8);
        if (unit == 'n') set_number(out, Shape::MonthDayNano, 16);
        return out.width != 0;
    }
    out.unit = unit_of(unit);
    if (!out.unit) return false;
    if (kind == 't') set_number(out, Shape::Time, out.unit <= 1000 ? 4 : 8);
    if (kind == 's') set_number(out, Shape::Timestamp, 8);
    if (kind == 'D') set_number(out, Shape::Elapsed, 8);
    out.is_zoned = kind == 's' && format.size() > 4;
    return out.width != 0;
}

void read_nested(const std::string& format, Source& out) {
    if (format == "+l" || format == "+L") {
        set_bytes(out, Shape::List, format == "+l" ? Layout::Offsets32 : Layout::Offsets64);
    } else if (format == "+vl" || format == "+vL") {
        set_bytes(out, Shape::List, format == "+vl" ? Layout::Ranges32 : Layout::Ranges64);
    } else if (starts_with(format, "+w:")) {
        const char* at = format.c_str() + 3;
        if (read_number(at, out.size) && !*at && out.size >= 0 && out.size <= INT32_MAX) set_bytes(out, Shape::List, Layout::Fixed);
    } else if (format == "+m") {
        set_bytes(out, Shape::Map, Layout::Offsets32);
    } else if (format == "+s") {
        out.shape = Shape::Struct;
    } else if (format == "+r") {
        out.shape = Shape::RunEnds;
    }
}

void read_format(const std::string& format, Source& out) {
    if (format.size() == 1) {
        read_one_letter(format[0], out);
    } else if (format == "vu" || format == "vz") {
        set_bytes(out, format == "vu" ? Shape::Text : Shape::Binary, Layout::View);
    } else if (starts_with(format, "w:")) {
        const char* at = format.c_str() + 2;
        if (read_number(at, out.size) && !*at && out.size >= 0 && out.size <= INT32_MAX) set_bytes(out, Shape::Binary, Layout::Fixed);
    } else if (starts_with(format, "d:")) {
        read_decimal(format.c_str() + 2, out);
    } else if (format[0] == 't' && format.size() >= 3) {
        read_time(format, out);
    } else if (format[0] == '+') {
        read_nested(format, out);
    }
}

// Key-value pairs: a count, then length and bytes of each key and value. Their total size is not stored.
void read_metadata(const char* metadata, Source& out) {
    const auto number = [&metadata] {
        int32_t v;
        std::memcpy(&v, metadata, sizeof v);
        metadata += sizeof v;
        return v;
    };
    const auto text = [&](std::string& found) {
        const int32_t size = number();
        if (size < 0) return false;
        found.assign(metadata, static_cast<size_t>(size));
        metadata += size;
        return true;
    };
    std::string key, value;
    for (int32_t left = number(); left > 0; --left) {
        if (!text(key) || !text(value)) return;
        if (key == "ARROW:extension:name") out.extension = value;
    }
}

// Handles extensions whose values differ from their storage; others are read as their storage.
void apply_extension(Source& out) {
    if (out.extension == "arrow.opaque") out.shape = Shape::Other;
    if (starts_with(out.extension, "pandas.")) out.shape = Shape::Other;  // periods and intervals
    if (out.extension == "arrow.bool8" && out.shape == Shape::Integer && out.width == 1) out.shape = Shape::Boolean;
}

// Number of children of the shape; -1: any number.
int64_t children_of(Shape shape) {
    switch (shape) {
        case Shape::List:
        case Shape::Map: return 1;
        case Shape::RunEnds: return 2;
        case Shape::Struct:
        case Shape::Other: return -1;
        default: return 0;
    }
}

// Returns an error if the types of the children are invalid.
const char* wrong_children(const Source& source) {
    if (source.shape == Shape::Map) {
        const Source& entries = source.children[0];
        if (entries.shape != Shape::Struct || entries.children.size() != 2) return "whose entries are not pairs";
    }
    if (source.shape == Shape::RunEnds) {
        const Source& ends = source.children[0];
        if (ends.shape != Shape::Integer || ends.width < 2 || !ends.is_signed) return "whose run ends are not integers";
    }
    return nullptr;
}

}  // namespace

std::string Source::text() const {
    const std::string bits = std::to_string(width * 8);
    switch (shape) {
        case Shape::Null: return "null";
        case Shape::Boolean: return "bool";
        case Shape::Integer: return (is_signed ? "int" : "uint") + bits;
        case Shape::Floating: return "float" + bits;
        case Shape::Decimal: return "decimal" + bits + "(" + std::to_string(precision) + ", " + std::to_string(scale) + ")";
        case Shape::Text: return layout == Layout::View ? "string_view" : layout == Layout::Offsets64 ? "large_string" : "string";
        case Shape::Binary:
            if (layout == Layout::Fixed) return "fixed_size_binary(" + std::to_string(size) + ")";
            return layout == Layout::View ? "binary_view" : layout == Layout::Offsets64 ? "large_binary" : "binary";
        case Shape::Date: return "date" + bits;
        case Shape::Time: return "time" + bits + "[" + name_of_unit(unit) + "]";
        case Shape::Timestamp:
        case Shape::Elapsed: {
            const std::string zone = is_zoned ? ", " + format.substr(4) : "";
            return (shape == Shape::Timestamp ? "timestamp[" : "duration[") + std::string(name_of_unit(unit)) + zone + "]";
        }
        case Shape::Months: return "month_interval";
        case Shape::DayTime: return "day_time_interval";
        case Shape::MonthDayNano: return "month_day_nano_interval";
        case Shape::List:
            return (layout == Layout::Fixed ? "fixed_size_list<" : "list<") + children[0].text() +
                   (layout == Layout::Fixed ? ", " + std::to_string(size) + ">" : ">");
        case Shape::Map: return "map<" + children[0].children[0].text() + ", " + children[0].children[1].text() + ">";
        case Shape::Struct: {
            std::string fields;
            for (const Source& child : children) fields += (fields.empty() ? "" : ", ") + child.name + ": " + child.text();
            return "struct<" + fields + ">";
        }
        case Shape::Dictionary: return "dictionary<" + children[0].text() + ">";
        case Shape::RunEnds: return "run_end_encoded<" + children[1].text() + ">";
        case Shape::Other: break;
    }
    return "the Arrow type '" + (extension.empty() ? format : extension) + "'";
}

bool read_schema(const ArrowSchema& schema, Source& out, std::string& problem, int depth) {
    const auto broken = [&](const std::string& why) {
        problem = "the schema of '" + out.name + "' is broken: " + why;
        return false;
    };
    out.name = schema.name ? schema.name : "";
    if (!schema.format) return broken("it has no format");
    out.format = schema.format;
    if (depth >= kMaxDepth) return broken("it is nested too deeply");
    if (schema.n_children < 0 || (schema.n_children > 0 && !schema.children)) return broken("its children are missing");
    if (schema.metadata) read_metadata(schema.metadata, out);
    if (!out.format.empty()) read_format(out.format, out);
    apply_extension(out);
    if (schema.dictionary) {
        if (out.shape != Shape::Integer) return broken("its dictionary indexes are not integers");
        out.shape = Shape::Dictionary;
        out.children.resize(1);
        if (!read_schema(*schema.dictionary, out.children[0], problem, depth + 1)) return false;
        return schema.n_children == 0 || broken("a dictionary with children");
    }
    const int64_t wanted = children_of(out.shape);
    if (wanted >= 0 && schema.n_children != wanted) {
        return broken(std::to_string(schema.n_children) + " children for the format '" + out.format + "'");
    }
    out.children.resize(static_cast<size_t>(schema.n_children));
    for (int64_t i = 0; i < schema.n_children; ++i) {
        if (!schema.children[i] || !schema.children[i]->release) return broken("a child is missing");
        if (!read_schema(*schema.children[i], out.children[static_cast<size_t>(i)], problem, depth + 1)) return false;
    }
    const char* wrong = wrong_children(out);
    return !wrong || broken("a '" + out.format + "' " + wrong);
}

}  // namespace fastcql::ingest
