import { isSelvedgeError } from '@selvedge/client'
import {
  type Cluster,
  clusters,
  type methods,
  type NodeOptions,
  nodeLimits,
  type ResultOf,
} from '@selvedge/protocol'
import { command } from '../command.ts'
import { accessTokenOf, accessTokenOptions } from '../context/access-token.ts'
import { exitCodes, UsageError } from '../failure.ts'
import { formatHuman } from '../output/human.ts'

type Result = ResultOf<typeof methods.getNodes>

export const nodes = command({
  path: ['nodes'],
  summary: 'List nodes of the account, nodes nearby, or nodes on the local network.',
  options: [
    { flags: '--cluster <cluster>', description: `${clusters.join(', ')}; default account` },
    {
      flags: '--radius <metres>',
      description: `proximity: around this node; default ${nodeLimits.radius.usual}, at most ${nodeLimits.radius.most}`,
    },
    { flags: '--limit <count>', description: 'maximum number of nodes' },
    { flags: '--after <id>', description: 'account: "next" of the page before' },
    ...accessTokenOptions,
  ],
  examples: ['selvedge nodes', 'selvedge nodes --cluster proximity --radius 2000'],
  run: async (context, { options }): Promise<Result> => {
    const cluster = String(options.cluster ?? 'account') as Cluster
    if (!clusters.includes(cluster))
      throw new UsageError(
        `there is no cluster ${JSON.stringify(cluster)}`,
        `Give one of ${clusters.join(', ')}.`,
      )
    const number = (name: 'radius' | 'limit') =>
      options[name] === undefined ? {} : { [name]: readNumber(name, String(options[name])) }
    const asked: NodeOptions = {
      ...number('radius'),
      ...number('limit'),
      ...(typeof options.after === 'string' && { after: options.after }),
    }
    const edgeAccessToken = await accessTokenOf(context, options, 'openid edge:clusters')
    return context.runtime.getNodes({ edgeAccessToken, cluster, options: asked }).catch(explainNoLocation)
  },
  human: ({ type, data, stale, ageSeconds, next }: Result) => {
    const rows = data.map((node) => ({
      node: node.nodeId.slice(0, 12),
      name: node.name,
      state: node.state,
      distance: node.distance === null ? null : metres(node.distance),
      place: node.fix && placeOf(node.fix),
      age: node.fix && `${node.fix.ageSeconds} s`,
      addresses: node.addresses,
      services: node.services.map(({ path }) => path),
    }))
    const notes = [
      ...(stale ? [`last known ${ageSeconds} s ago: the discovery service cannot be reached`] : []),
      ...(next === null ? [] : [`there are more: --after ${next}`]),
    ]
    return [rows.length === 0 ? nobody[type] : formatHuman(rows), ...notes].join('\n')
  },
})

/** @throws always */
function explainNoLocation(cause: unknown): never {
  if (!isSelvedgeError(cause) || cause.reason !== 'not_found') throw cause
  throw new UsageError(
    'the location of this device is not known',
    'Report it, or set gps.source: selvedge gps update --longitude <degrees> --latitude <degrees> --speed 0 --bearing 0',
    exitCodes.failed,
  )
}

function readNumber(name: string, text: string): number {
  const value = Number(text)
  if (text.trim() !== '' && value > 0 && Number.isFinite(value)) return value
  throw new UsageError(
    `--${name} is ${JSON.stringify(text)}, not a number above 0`,
    `For example --${name} 100`,
  )
}

const nobody = {
  account: 'the account has no nodes',
  proximity: 'no node nearby',
  linkLocal: 'no node on the local network',
} as const

/** Rounded to the precision that the location has. */
const digits = { exact: 5, '1km': 2, city: 1 } as const

function placeOf({ latitude, longitude, precision }: NonNullable<Result['data'][number]['fix']>): string {
  const place = `${latitude.toFixed(digits[precision])}, ${longitude.toFixed(digits[precision])}`
  return precision === 'exact' ? place : `about ${place}`
}

const metres = (distance: number): string =>
  distance < 1000 ? `${Math.round(distance)} m` : `${(distance / 1000).toFixed(1)} km`
