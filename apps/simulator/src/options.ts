/** The options of the command line. */
import { ConfigError } from '@selvedge/service-kit/config'
import type { Region } from './fleet.ts'

export interface Options {
  readonly nodes: number
  /** Reports a second, of all devices together. */
  readonly rate: number
  readonly queries: number
  readonly seconds: number
  readonly map: Region
  readonly seed: string
  /** Use the services that run already, in place of a stack of its own. */
  readonly running: boolean
}

const most = { nodes: 1_000_000, rate: 100_000, queries: 10_000, seconds: 3000 } as const

/** @param text JSON with the options as the command line spells them @throws ConfigError */
export function readOptions(text: string): Options {
  const given = JSON.parse(text) as Record<string, string | true | undefined>
  const number = (name: keyof typeof most, usual: number) => {
    const value = given[name] === undefined ? usual : Number(given[name])
    if (!(value > 0 && value <= most[name]) && !(name === 'queries' && value === 0))
      throw new ConfigError(
        `--${name} is ${JSON.stringify(given[name])}; expected a number above 0 and up to ${most[name]}`,
      )
    return value
  }
  const nodes = Math.round(number('nodes', 1000))
  const rate = number('rate', Math.max(1, nodes / 10))
  return {
    nodes,
    rate,
    queries: number('queries', rate / 100),
    seconds: number('seconds', 30),
    map: readMap(given.map === undefined ? 'world' : String(given.map)),
    seed: given.seed === undefined ? 'selvedge' : String(given.seed),
    running: given.running === true,
  }
}

function readMap(text: string): Region {
  if (text === 'world') return 'world'
  const [longitude, latitude, radius, ...more] = text.split(',').map(Number)
  const isPlace = Math.abs(longitude ?? 999) <= 180 && Math.abs(latitude ?? 999) <= 90
  if (!isPlace || !(radius! > 0 && radius! <= 20_000) || more.length > 0)
    throw new ConfigError(
      `--map is ${JSON.stringify(text)}; expected "world", or <longitude>,<latitude>,<radius in km>`,
    )
  return { longitude: longitude!, latitude: latitude!, radius: radius! }
}
