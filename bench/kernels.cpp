// The loops of kernels.py as a C++ programmer writes them: arrays of rows one behind the other, no restrict.
// kernels.py builds it: g++ -O3 -march=native -ffp-contract=off -shared -fPIC
#include <algorithm>
#include <cstdint>

using Int = std::int64_t;

#define KERNEL extern "C" void

KERNEL lu_rows(double* a, Int n) {
  for (Int i = 0; i < n; ++i) {
    for (Int j = 0; j < i; ++j) {
      double left = a[i * n + j];
      for (Int k = 0; k < j; ++k) left -= a[i * n + k] * a[k * n + j];
      a[i * n + j] = left / a[j * n + j];
    }
    for (Int j = i; j < n; ++j) {
      double left = a[i * n + j];
      for (Int k = 0; k < i; ++k) left -= a[i * n + k] * a[k * n + j];
      a[i * n + j] = left;
    }
  }
}

KERNEL lu_columns(double* a, Int n) {
  for (Int k = 0; k < n; ++k)
    for (Int i = k + 1; i < n; ++i) {
      a[i * n + k] /= a[k * n + k];
      for (Int j = k + 1; j < n; ++j) a[i * n + j] -= a[i * n + k] * a[k * n + j];
    }
}

KERNEL gauss_seidel(double* u, Int n, Int sweeps) {
  for (Int t = 0; t < sweeps; ++t)
    for (Int i = 1; i < n - 1; ++i)
      for (Int j = 1; j < n - 1; ++j)
        u[i * n + j] =
            0.2 * (u[(i - 1) * n + j] + u[i * n + j - 1] + u[i * n + j] + u[i * n + j + 1] + u[(i + 1) * n + j]);
}

KERNEL edit_distance(const std::uint8_t* a, const std::uint8_t* b, Int* d, Int n, Int m) {
  const Int w = m + 1;
  for (Int i = 1; i <= n; ++i)
    for (Int j = 1; j <= m; ++j) {
      const Int cost = a[i - 1] == b[j - 1] ? 0 : 1;
      d[i * w + j] = std::min({d[(i - 1) * w + j] + 1, d[i * w + j - 1] + 1, d[(i - 1) * w + j - 1] + cost});
    }
}

KERNEL shortest_if(double* d, Int n) {
  for (Int k = 0; k < n; ++k)
    for (Int i = 0; i < n; ++i)
      for (Int j = 0; j < n; ++j)
        if (d[i * n + k] + d[k * n + j] < d[i * n + j]) d[i * n + j] = d[i * n + k] + d[k * n + j];
}

KERNEL shortest_min(double* d, Int n) {
  for (Int k = 0; k < n; ++k)
    for (Int i = 0; i < n; ++i)
      for (Int j = 0; j < n; ++j) d[i * n + j] = std::min(d[i * n + j], d[i * n + k] + d[k * n + j]);
}

KERNEL crc(const std::uint8_t* data, Int n, Int* out) {
  Int rest = 0xFFFF;
  for (Int i = 0; i < n; ++i) {
    Int byte = data[i];
    for (int bit = 0; bit < 8; ++bit) {
      if ((rest ^ byte) & 1)
        rest = (rest >> 1) ^ 0x8408;
      else
        rest >>= 1;
      byte >>= 1;
    }
  }
  *out = rest ^ 0xFFFF;
}

KERNEL smooth(const double* x, double* y, Int n, double a) {
  double s = x[0];
  for (Int i = 0; i < n; ++i) {
    s = a * x[i] + (1.0 - a) * s;
    y[i] = s;
  }
}

KERNEL sparse_product(const Int* starts, const Int* columns, const double* values, const double* x, double* y, Int n) {
  for (Int i = 0; i < n; ++i) {
    double s = 0.0;
    for (Int k = starts[i]; k < starts[i + 1]; ++k) s += values[k] * x[columns[k]];
    y[i] = s;
  }
}

KERNEL tridiagonal(const double* a, double* b, const double* c, double* d, double* x, Int n) {
  for (Int i = 1; i < n; ++i) {
    const double w = a[i - 1] / b[i - 1];
    b[i] -= w * c[i - 1];
    d[i] -= w * d[i - 1];
  }
  x[n - 1] = d[n - 1] / b[n - 1];
  for (Int i = n - 2; i >= 0; --i) x[i] = (d[i] - c[i] * x[i + 1]) / b[i];
}

KERNEL mandelbrot(Int* out, Int h, Int w, Int limit) {
  for (Int i = 0; i < h; ++i)
    for (Int j = 0; j < w; ++j) {
      const double cr = -2.0 + 3.0 * double(j) / double(w), ci = -1.0 + 2.0 * double(i) / double(h);
      double zr = 0.0, zi = 0.0;
      Int k = 0;
      while (k < limit && zr * zr + zi * zi <= 4.0) {
        const double t = zr * zr - zi * zi + cr;
        zi = 2.0 * zr * zi + ci;
        zr = t;
        ++k;
      }
      out[i * w + j] = k;
    }
}

KERNEL folding(const std::int32_t* bases, std::int32_t* best, Int n) {
  for (Int i = n - 2; i >= 0; --i)
    for (Int j = i + 1; j < n; ++j) {
      best[i * n + j] = std::max(best[i * n + j], best[i * n + j - 1]);
      best[i * n + j] = std::max(best[i * n + j], best[(i + 1) * n + j]);
      if (i < j - 1)
        best[i * n + j] = std::max(best[i * n + j], best[(i + 1) * n + j - 1] + (bases[i] + bases[j] == 3 ? 1 : 0));
      else
        best[i * n + j] = std::max(best[i * n + j], best[(i + 1) * n + j - 1]);
      for (Int k = i + 1; k < j; ++k)
        best[i * n + j] = std::max(best[i * n + j], best[i * n + k] + best[(k + 1) * n + j]);
    }
}

KERNEL queens(Int* columns, Int* rising, Int* falling, Int* open, Int n, Int* out) {
  const Int all = (Int{1} << n) - 1;
  Int count = 0, row = 0;
  columns[0] = rising[0] = falling[0] = 0;
  open[0] = all;
  while (row >= 0) {
    const Int free = open[row];
    if (free == 0) {
      --row;
    } else {
      const Int bit = free & -free;
      open[row] = free ^ bit;
      if (row == n - 1) {
        ++count;
      } else {
        columns[row + 1] = columns[row] | bit;
        rising[row + 1] = (rising[row] | bit) << 1;
        falling[row + 1] = (falling[row] | bit) >> 1;
        ++row;
        open[row] = all & ~(columns[row] | rising[row] | falling[row]);
      }
    }
  }
  *out = count;
}

KERNEL product_dot(const double* a, const double* b, double* c, Int n) {
  for (Int i = 0; i < n; ++i)
    for (Int j = 0; j < n; ++j) {
      double s = 0.0;
      for (Int k = 0; k < n; ++k) s += a[i * n + k] * b[k * n + j];
      c[i * n + j] = s;
    }
}

KERNEL product_rows(const double* a, const double* b, double* c, Int n) {
  for (Int i = 0; i < n; ++i)
    for (Int k = 0; k < n; ++k)
      for (Int j = 0; j < n; ++j) c[i * n + j] += a[i * n + k] * b[k * n + j];
}

KERNEL jacobi(const double* u, double* v, Int n) {
  for (Int i = 1; i < n - 1; ++i)
    for (Int j = 1; j < n - 1; ++j)
      v[i * n + j] =
          0.2 * (u[i * n + j] + u[i * n + j - 1] + u[i * n + j + 1] + u[(i - 1) * n + j] + u[(i + 1) * n + j]);
}

KERNEL histogram(const double* x, Int* counts, Int n) {
  for (Int i = 0; i < n; ++i) counts[Int(x[i] * 64.0)] += 1;
}

KERNEL convolution(const double* u, const double* w, double* v, Int n) {
  for (Int i = 1; i < n - 1; ++i)
    for (Int j = 1; j < n - 1; ++j) {
      double s = 0.0;
      for (Int p = 0; p < 3; ++p)
        for (Int q = 0; q < 3; ++q) s += u[(i + p - 1) * n + j + q - 1] * w[p * 3 + q];
      v[i * n + j] = s;
    }
}

KERNEL leaky(const double* x, double* y, Int n) {
  for (Int i = 0; i < n; ++i) {
    if (x[i] > 0.0)
      y[i] = 2.0 * x[i];
    else
      y[i] = 0.5 * x[i];
  }
}

KERNEL rotation(const double* r, const double* p, double* q, Int n) {
  for (Int i = 0; i < n; ++i)
    for (Int j = 0; j < 3; ++j) {
      double s = 0.0;
      for (Int k = 0; k < 3; ++k) s += r[j * 3 + k] * p[i * 3 + k];
      q[i * 3 + j] = s;
    }
}
