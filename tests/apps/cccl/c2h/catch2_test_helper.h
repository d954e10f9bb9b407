// Stands in front of CCCL's header of this name, which wants Catch2. CUB's examples include it by way of CUB's test_util.h, which needs this of it.
#pragma once

#include <cuda/std/bit>
#include <cuda/std/cmath>
#include <cuda/std/type_traits>

namespace c2h
{
template <typename To, typename From>
__host__ __device__ constexpr To SafeBitCast(const From &from) noexcept
{
    return cuda::std::bit_cast<To>(from);
}

template <typename T>
constexpr bool isnan(T value) noexcept
{
    if constexpr (cuda::std::is_floating_point_v<T>)
        return cuda::std::isnan(value);
    else
        return false;
}
} // namespace c2h
