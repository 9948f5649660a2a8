/** Which port of a program that has several is the one for HTTP. */

/** Ports, first and last, at which programs usually answer HTTP. */
export const httpPorts: readonly (readonly [first: number, last: number])[] = [
  [80, 81],
  [1880, 1880],
  [2368, 2368],
  [3000, 3010],
  [4000, 4000],
  [4200, 4200],
  [5000, 5001],
  [5173, 5173],
  [5601, 5601],
  [7000, 7000],
  [8000, 8099],
  [8123, 8123],
  [8200, 8200],
  [8888, 8888],
  [9000, 9000],
  [9090, 9091],
]

export const isHttpPort = (port: number) => httpPorts.some(([first, last]) => first <= port && port <= last)
