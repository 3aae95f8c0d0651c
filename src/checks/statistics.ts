// Statistics that a few wrong values do not move. Each works on its array in place.

/** What lies at a part of the values, from 0 to 1, as spreadsheets, numpy and R have it. NaN without values. */
export const quantile = (values: Float64Array, part: number): number => {
  const place = part * (values.length - 1)
  const low = Math.floor(place)
  // Whoever chooses the order of values can make a selection slow.
  values.sort()
  const [value, next] = [values[low] as number, values[Math.ceil(place)] as number]
  return value + (next - value) * (place - low)
}

/** The median, and the median of the distances from it, scaled to be the standard deviation of values that are normal. */
export const spread = (values: Float64Array): { median: number; deviation: number } => {
  const median = quantile(values, 0.5)
  for (const [i, value] of values.entries()) values[i] = Math.abs(value - median)
  return { median, deviation: 1.4826 * quantile(values, 0.5) }
}

/** The 0.975 quantile of the normal distribution. */
const Z = 1.959963984540054

/** A share with its interval of 95 % by Wilson's score (1927). */
export const shareOf = (count: number, of: number) => {
  if (of === 0) return { count, of, share: null, low: null, high: null }
  const share = count / of
  const middle = share + Z ** 2 / (2 * of)
  const half = Z * Math.sqrt((share * (1 - share)) / of + Z ** 2 / (4 * of ** 2))
  const scale = 1 + Z ** 2 / of
  // Rounding must not move the ends.
  const low = count === 0 ? 0 : (middle - half) / scale
  return { count, of, share, low, high: count === of ? 1 : (middle + half) / scale }
}

const EARTH_KM = 6371.0088
const radians = (degrees: number) => (degrees * Math.PI) / 180

/** The distance of two places in kilometres, by their longitudes and latitudes in degrees, on a sphere. */
export const distance = (x: number, y: number, longitude: number, latitude: number): number => {
  const [a, b] = [radians(y), radians(latitude)]
  const half = Math.sin((b - a) / 2) ** 2 + Math.cos(a) * Math.cos(b) * Math.sin(radians(longitude - x) / 2) ** 2
  return 2 * EARTH_KM * Math.asin(Math.min(1, Math.sqrt(half)))
}
