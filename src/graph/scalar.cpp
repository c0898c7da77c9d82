// Scalar constants: conversion between C++ numbers and the bits of one element.
#include "graph/graph.h"
#include "graph/support/bits.h"
#include "graph/support/check.h"

namespace fw::graph {
namespace {

/// Bits of a float type, rounded once from double.
uint64_t floatBits(DType d, double v) {
  switch (itemSize(d)) {
    case 2: return bitsOf(static_cast<_Float16>(v));
    case 4: return bitsOf(static_cast<float>(v));
    default: return bitsOf(v);
  }
}

double floatValue(DType d, uint64_t bits) {
  switch (itemSize(d)) {
    case 2: return static_cast<double>(fromBits<_Float16>(bits));
    case 4: return fromBits<float>(static_cast<uint32_t>(bits));
    default: return fromBits<double>(bits);
  }
}

uint64_t lowBytes(uint64_t v, int bytes) { return bytes == 8 ? v : v & ((uint64_t{1} << (8 * bytes)) - 1); }

}  // namespace

Scalar Scalar::ofBool(bool v) { return {DType::kBool, v ? 1u : 0u, 0}; }

Scalar Scalar::ofInt(DType d, int64_t v) {
  if (d == DType::kBool) return ofBool(v != 0);
  FW_CHECK(isInteger(d));
  return {d, lowBytes(static_cast<uint64_t>(v), itemSize(d)), 0};
}

Scalar Scalar::ofDouble(DType d, double v) {
  FW_CHECK(isFloat(d));
  return {d, floatBits(d, v), 0};
}

Scalar Scalar::ofComplex(DType d, std::complex<double> v) {
  FW_CHECK(isComplex(d));
  if (d == DType::kC128) return {d, bitsOf(v.real()), bitsOf(v.imag())};
  return {d, floatBits(DType::kF32, v.real()) | floatBits(DType::kF32, v.imag()) << 32, 0};
}

Scalar Scalar::zero(DType d) { return {d, 0, 0}; }

Scalar Scalar::one(DType d) {
  if (isComplex(d)) return ofComplex(d, 1.0);
  return isFloat(d) ? ofDouble(d, 1.0) : ofInt(d, 1);
}

std::complex<double> Scalar::asComplex() const {
  if (dtype == DType::kC128) return {fromBits<double>(lo), fromBits<double>(hi)};
  if (dtype == DType::kC64) return {floatValue(DType::kF32, lo), floatValue(DType::kF32, lo >> 32)};
  return asDouble();
}

double Scalar::asDouble() const {
  if (isInexact(dtype)) return floatValue(realOf(dtype), lo);
  return isSigned(dtype) ? static_cast<double>(asInt()) : static_cast<double>(lo);
}

int64_t Scalar::asInt() const {
  if (isInexact(dtype)) return static_cast<int64_t>(asDouble());
  if (!isSigned(dtype)) return static_cast<int64_t>(lo);
  int unused = 64 - 8 * itemSize(dtype);
  return static_cast<int64_t>(lo << unused) >> unused;
}

}  // namespace fw::graph
