// SPDX-License-Identifier: GPL-2.0-or-later
// C++: namespaces, templates, virtual calls, operators, a lambda, overloads.
#include "features.h"

namespace geometry {

class Shape {
public:
    virtual uint32_t area() const = 0;
};

class Square final : public Shape {
public:
    explicit Square(uint32_t side) : side_(side) {}
    __attribute__((noinline)) uint32_t area() const override { return side_ * side_; }

private:
    uint32_t side_;
};

class Rectangle final : public Shape {
public:
    Rectangle(uint32_t width, uint32_t height) : width_(width), height_(height) {}
    __attribute__((noinline)) uint32_t area() const override { return width_ * height_; }

private:
    uint32_t width_;
    uint32_t height_;
};

template <typename T, unsigned Count> class Ring {
public:
    __attribute__((noinline)) void push(T value) { values_[next_++ % Count] = value; }
    __attribute__((noinline)) T sum() const
    {
        T total = 0;

        for (T value : values_) {
            total += value;
        }
        return total;
    }

private:
    T values_[Count] = {};
    unsigned next_ = 0;
};

struct Point {
    uint32_t x;
    uint32_t y;
};

__attribute__((noinline)) Point operator+(const Point &left, const Point &right)
{
    return {left.x + right.x, left.y + right.y};
}

} // namespace geometry

namespace {

template <typename T> __attribute__((noinline)) T larger(T left, T right)
{
    return left > right ? left : right;
}

__attribute__((noinline)) uint32_t overloaded(uint32_t value)
{
    return value + 1;
}

__attribute__((noinline)) uint32_t overloaded(const geometry::Point &point)
{
    return point.x ^ point.y;
}

} // namespace

extern "C" uint32_t shapes(uint32_t value)
{
    geometry::Square square(value & 7);
    geometry::Rectangle rectangle(value & 3, 5);
    const geometry::Shape *const volatile both[] = {&square, &rectangle};
    geometry::Ring<uint32_t, 4> words;
    geometry::Ring<uint16_t, 8> halves;
    auto twice = [](uint32_t number) __attribute__((noinline)) { return number * 2 + 1; };

    for (uint32_t i = 0; i < 6; i++) {
        words.push(both[i & 1]->area() + i);
        halves.push(static_cast<uint16_t>(words.sum()));
    }
    value += larger<uint32_t>(words.sum(), halves.sum());
    value += static_cast<uint32_t>(larger<int>(-3, static_cast<int>(value & 15)));
    value += overloaded(twice(value));
    return value + overloaded(geometry::Point{value, 2} + geometry::Point{3, 4});
}
