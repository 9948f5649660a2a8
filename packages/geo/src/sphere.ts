/** The Earth as a sphere, which is within 0.5 % of the ellipsoid: enough to find what is near. */

/** Mean radius in metres (IUGG). */
export const earthRadius = 6_371_008.8

export const radians = Math.PI / 180

/** Metres along the great circle between two places in degrees (haversine: exact for small distances, too). */
export function distanceBetween(
  longitudeA: number,
  latitudeA: number,
  longitudeB: number,
  latitudeB: number,
): number {
  const sinLatitude = Math.sin(((latitudeB - latitudeA) * radians) / 2)
  const sinLongitude = Math.sin(((longitudeB - longitudeA) * radians) / 2)
  const a =
    sinLatitude * sinLatitude +
    Math.cos(latitudeA * radians) * Math.cos(latitudeB * radians) * sinLongitude * sinLongitude
  return 2 * earthRadius * Math.asin(Math.min(1, Math.sqrt(a)))
}

/** Where one gets from a place by going some metres along the great circle that begins at a bearing in degrees. */
export function destination(
  { longitude, latitude }: { readonly longitude: number; readonly latitude: number },
  bearing: number,
  metres: number,
): { longitude: number; latitude: number } {
  const angle = metres / earthRadius
  const from = latitude * radians
  const course = bearing * radians
  // A unit vector seen from the meridian of the start. Its angles come from `atan2`: `asin` loses 0.1 m at the poles.
  const ahead = Math.sin(angle) * Math.cos(course)
  const outward = Math.cos(from) * Math.cos(angle) - Math.sin(from) * ahead
  const east = Math.sin(angle) * Math.sin(course)
  const north = Math.sin(from) * Math.cos(angle) + Math.cos(from) * ahead
  return {
    longitude: wrapLongitude(longitude + Math.atan2(east, outward) / radians),
    latitude: Math.atan2(north, Math.hypot(outward, east)) / radians,
  }
}

/** The same meridian from -180 up to, but not including, 180 degrees. */
const wrapLongitude = (longitude: number): number => ((((longitude + 180) % 360) + 360) % 360) - 180
