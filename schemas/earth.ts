// Which places are on the earth. What has a place elsewhere has no geometry, and is in no box, extent or count of places.

/** The greatest longitude and the greatest latitude, in degrees. */
export const [MAX_LONGITUDE, MAX_LATITUDE] = [180, 90] as const

export const isOnEarth = (longitude: number, latitude: number): boolean =>
  Math.abs(longitude) <= MAX_LONGITUDE && Math.abs(latitude) <= MAX_LATITUDE
