//! The CRC-32 of exactly 64 bytes by carry-less multiplication, for processors that have it.
//!
//! A general CRC reads its input from memory, in a loop of folds that each wait for the last one. A record is in registers and has one size: seven of its
//! eight words are each multiplied by their own power of x, independently of each other, and the sum is reduced once. The word that is known last, the
//! sequence, is three multiplications away from the result. Measured when it was introduced, `record` took 24 ns with it and 31 with the general CRC. The
//! method is that of Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction", Intel, 2009; the constants are computed here.
//!
//! All polynomials are reflected: bit 0 is the highest term. A product of n and m bits therefore comes out one bit short, as if multiplied by one more x;
//! to make up for it, the powers here are one lower.
//!
//! The only `unsafe` of this crate calls functions that need the instruction: a [`Folding`] exists only where the processor has it.
#![allow(unsafe_code)]
#![allow(
    clippy::arithmetic_side_effects,
    reason = "constants: an overflow would not compile"
)]
#![expect(
    improper_ctypes_definitions,
    reason = "called from Rust only: the C calling convention is for its registers"
)]

use core::num::NonZeroU32;

use core::arch::x86_64::{
    __m128i, _mm_clmulepi64_si128, _mm_cvtsi128_si32, _mm_srli_si128, _mm_xor_si128,
};

/// The generator of CRC-32 without its highest term.
const GENERATOR: u32 = 0xEDB8_8320;
/// The generator.
const GENERATOR_33: u64 = (GENERATOR as u64) << 1 | 1;

/// x^`power` modulo the generator.
const fn power(power: u32) -> u32 {
    let mut remainder = 1 << 31;
    let mut times_x = 0;
    while times_x < power {
        remainder = (remainder >> 1) ^ (GENERATOR * (remainder & 1));
        times_x += 1;
    }
    remainder
}

/// The inverse of the generator, as a power series, to 64 terms: 64 bits times this is the quotient of a 96-bit polynomial by the generator.
const fn inverse() -> u64 {
    let mut inverse = 0;
    let mut rest = 1;
    let mut term = 0;
    while term < 64 {
        if rest & 1 == 1 {
            inverse |= 1 << term;
            rest ^= GENERATOR_33;
        }
        rest >>= 1;
        term += 1;
    }
    inverse
}

/// The CRC-32 of 64 zero bytes: all that the initial value and the final inversion contribute.
const fn of_zeroes() -> u32 {
    let mut crc = !0;
    let mut bits = 0;
    while bits < 512 {
        crc = (crc >> 1) ^ (GENERATOR * (crc & 1));
        bits += 1;
    }
    !crc
}

/// The factor of word `word` of eight: x to its distance in bits from the last word, plus the 32 terms of the remainder, less the one of a product.
const fn power_of_word(word: u32) -> NonZeroU32 {
    NonZeroU32::new(power((7 - word) * 64 + 32 - 1))
        .expect("no power is a multiple of the generator")
}

const OF_ZEROES: u32 = of_zeroes();
const FIRST_POWER: u64 = power_of_word(0).get() as u64;

/// Proof that the processor has carry-less multiplication, and the powers of words 1 to 6, so that they lie next to what the recorder loads anyway.
#[derive(Clone, Debug)]
pub struct Folding([NonZeroU32; 6]);

/// The sum over the seven words after the first. Only [`Folding::sum`] makes one, so it too proves that the processor has the instruction.
#[derive(Clone, Copy, Debug)]
pub struct Sum(__m128i);

impl Folding {
    /// None: this processor does not have it.
    #[must_use]
    pub fn detect() -> Option<Self> {
        #[cfg(feature = "std")]
        let can = std::is_x86_feature_detected!("pclmulqdq");
        #[cfg(not(feature = "std"))]
        let can = cfg!(target_feature = "pclmulqdq");
        can.then_some(Self(
            const {
                [
                    power_of_word(1),
                    power_of_word(2),
                    power_of_word(3),
                    power_of_word(4),
                    power_of_word(5),
                    power_of_word(6),
                ]
            },
        ))
    }

    /// The CRC-32 of eight words.
    #[inline]
    #[must_use]
    pub fn crc32(&self, words: [u64; 8]) -> u32 {
        let [a, b, c, d, e, f, g, h] = words.map(vector);
        // SAFETY: `self` exists, so `detect` found the instruction.
        unsafe { crc32_of(&self.0, a, b, c, d, e, f, g, h) }
    }

    /// The first step to the same: all that the words after the first contribute.
    #[inline(always)]
    #[must_use]
    pub fn sum(&self, others: [u64; 7]) -> Sum {
        let [b, c, d, e, f, g, h] = others.map(vector);
        // SAFETY: `self` exists, so `detect` found the instruction.
        Sum(unsafe { sum_of(&self.0, b, c, d, e, f, g, h) })
    }
}

impl Sum {
    /// The second step: the CRC-32 of `first` and the words summed. Three multiplications.
    #[inline(always)]
    #[must_use]
    pub fn crc32(self, first: u64) -> u32 {
        // SAFETY: `self` exists, so `Folding::detect` found the instruction.
        unsafe { with_first(self.0, vector(first)) }
    }
}

// The three functions that are called: with the C calling convention, because only it is certain to pass these arguments in vector registers; out of line,
// because a function that uses the instruction can be inlined only into functions that may use it too.

#[target_feature(enable = "pclmulqdq")]
#[inline(never)]
extern "C" fn crc32_of(
    powers: &[NonZeroU32; 6],
    a: __m128i,
    b: __m128i,
    c: __m128i,
    d: __m128i,
    e: __m128i,
    f: __m128i,
    g: __m128i,
    h: __m128i,
) -> u32 {
    let others = sum(powers, [b, c, d, e, f, g], h);
    reduced(xor(others, multiplied(a, FIRST_POWER)))
}

#[target_feature(enable = "pclmulqdq")]
#[inline(never)]
extern "C" fn sum_of(
    powers: &[NonZeroU32; 6],
    b: __m128i,
    c: __m128i,
    d: __m128i,
    e: __m128i,
    f: __m128i,
    g: __m128i,
    h: __m128i,
) -> __m128i {
    sum(powers, [b, c, d, e, f, g], h)
}

#[target_feature(enable = "pclmulqdq")]
#[inline(never)]
extern "C" fn with_first(sum: __m128i, first: __m128i) -> u32 {
    reduced(xor(sum, multiplied(first, FIRST_POWER)))
}

/// Words 1 to 6, each times its power, and the last word, whose power is 1.
#[target_feature(enable = "pclmulqdq")]
#[inline]
fn sum(powers: &[NonZeroU32; 6], words: [__m128i; 6], last: __m128i) -> __m128i {
    let mut sum = last;
    for (word, power) in words.into_iter().zip(powers) {
        sum = xor(sum, multiplied(word, power.get().into()));
    }
    sum
}

/// The CRC-32 of the words with this `sum`: its remainder by the generator, by Barrett's method.
#[target_feature(enable = "pclmulqdq")]
#[inline]
fn reduced(sum: __m128i) -> u32 {
    let quotient = multiplied(sum, const { inverse() });
    let multiple = multiplied(quotient, GENERATOR_33);
    let remainder = _mm_srli_si128::<8>(xor(sum, multiple));
    _mm_cvtsi128_si32(remainder).cast_unsigned() ^ OF_ZEROES
}

/// The product of the lower half of `word` and `factor`.
#[target_feature(enable = "pclmulqdq")]
#[inline]
fn multiplied(word: __m128i, factor: u64) -> __m128i {
    _mm_clmulepi64_si128::<0>(word, vector(factor))
}

#[target_feature(enable = "sse2")]
#[inline]
fn xor(a: __m128i, b: __m128i) -> __m128i {
    _mm_xor_si128(a, b)
}

/// A vector with `word` in its lower half.
#[inline]
fn vector(word: u64) -> __m128i {
    bytemuck::cast([word, 0])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the paper's table "CRC32 (reflected)", and another implementation's CRC-32 of 64 zeroes.
    #[test]
    fn constants_are_the_published_ones() {
        // The paper shifts its constants by one bit where ours are one power lower.
        let published = |of| u64::from(power(of)) << 1;
        assert_eq!(published(128 + 32), 0x1_7519_97d0);
        assert_eq!(published(128 - 32), 0x0_ccaa_009e);
        assert_eq!(published(512 + 32), 0x1_5444_2bd4);
        assert_eq!(GENERATOR_33, 0x1_db71_0641);
        // The paper gives 33 terms.
        assert_eq!(inverse() & 0x1_ffff_ffff, 0x1_f701_1641);
        assert_eq!(OF_ZEROES, crc32fast::hash(&[0; 64]));
    }
}
