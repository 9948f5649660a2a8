/** Where a device was: longitude and latitude in degrees, oldest first. */
export type Trail = readonly (readonly [longitude: number, latitude: number])[]
