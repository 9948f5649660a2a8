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
import { UsageError } from '../failure.ts'
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
    { flags: '--limit <count>', description: 'most nodes of the answer' },
    { flags: '--after <id>', description: 'account: "next" of the page before' },
    ...accessTokenOptions,
  ],
  run: async (context, { options }): Promise<Result> => {
    const cluster = String(options.cluster ?? 'account') as Cluster
    if (!clusters.includes(cluster))
      throw new UsageError(
        `there is no cluster ${JSON.stringify(cluster)}`,
        `Give one of ${clusters.join(', ')}.`,
      )
    const number = (name: 'radius' | 'limit') =>
      options[name] === undefined ? {} : { [name]: Number(options[name]) }
    const asked: NodeOptions = {
      ...number('radius'),
      ...number('limit'),
      ...(typeof options.after === 'string' && { after: options.after }),
    }
    const edgeAccessToken = await accessTokenOf(context, options, 'openid edge:clusters')
    return context.runtime.getNodes({ edgeAccessToken, cluster, options: asked })
  },
  human: ({ data, stale, ageSeconds, next, source }: Result) => {
    const rows = data.map((node) => ({
      node: node.nodeId.slice(0, 12),
      name: node.name,
      state: node.state,
      distance: node.distance === null ? null : metres(node.distance),
      place: node.fix && `${node.fix.latitude.toFixed(5)}, ${node.fix.longitude.toFixed(5)}`,
      age: node.fix && `${node.fix.ageSeconds} s`,
      addresses: node.addresses,
      services: node.services.map(({ path }) => path),
    }))
    const notes = [
      ...(stale ? [`last known ${ageSeconds} s ago: the discovery service can not be reached`] : []),
      ...(next === null ? [] : [`there are more: --after ${next}`]),
    ]
    const nobody = source === 'network' ? 'nobody is heard on the local network' : 'none'
    return [rows.length === 0 ? nobody : formatHuman(rows), ...notes].join('\n')
  },
})

const metres = (distance: number): string =>
  distance < 1000 ? `${Math.round(distance)} m` : `${(distance / 1000).toFixed(1)} km`
