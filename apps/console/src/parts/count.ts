/** How many devices, in words. */
export const count = (number: number): string =>
  number === 1 ? '1 device' : `${number.toLocaleString('en')} devices`
