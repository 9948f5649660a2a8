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
  const sinTo = Math.sin(from) * Math.cos(angle) + Math.cos(from) * Math.sin(angle) * Math.cos(course)
  const east = Math.sin(course) * Math.sin(angle) * Math.cos(from)
  const turned = Math.atan2(east, Math.cos(angle) - Math.sin(from) * sinTo)
  return {
    longitude: wrapLongitude(longitude + turned / radians),
    latitude: Math.asin(Math.min(1, Math.max(-1, sinTo))) / radians,
  }
}

/** The same meridian from -180 up to, but not including, 180 degrees. */
const wrapLongitude = (longitude: number): number => ((((longitude + 180) % 360) + 360) % 360) - 180
