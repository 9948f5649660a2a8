import type { Device } from '@selvedge/protocol/console'
import type { ListedNode } from '../../registry/nodes/node-lists.ts'
import type { DescribeDevice } from './describe-device.ts'
import type { Places } from './places.ts'

/**
 * Devices of an account as people see them: with what they are called, and where they are.
 *
 * @param at the moment of their states
 * @param isLocated whether the discovery service is asked for their locations. Default: true
 */
export type ShowDevices = (
  accountId: string,
  some: readonly ListedNode[],
  at: number,
  isLocated?: boolean,
) => Promise<{ devices: Device[] /** Whether the discovery service answered. */; hasPlaces: boolean }>

/** @param describe a device without its location */
export const createShowDevices =
  (places: Pick<Places, 'find'>, describe: DescribeDevice): ShowDevices =>
  async (accountId, some, at, isLocated = true) => {
    const nodeIds = some.map(({ node }) => node.nodeId)
    const fixes = isLocated ? await places.find(accountId, nodeIds) : undefined
    const devices = some.map(({ node, label }) => {
      const { nodeId: _, ...fix } = fixes?.get(node.nodeId) ?? { nodeId: '' }
      const named = { label: label.name, tags: [...label.tags] }
      return { ...describe(node, at), ...named, fix: 'fixedAt' in fix ? fix : null }
    })
    return { devices, hasPlaces: fixes !== undefined }
  }
