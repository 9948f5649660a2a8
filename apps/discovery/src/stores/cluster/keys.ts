/**
 * Keys of the cluster, and where things are in a cell. The part in braces chooses the shard.
 *
 * `a:{<account>:<bucket>}` is a hash of the last locations of an account's nodes, by node: the truth.
 * `l:{<account>:<bucket>}` is a hash of the nodes that left the account, with the number of the ownership that followed, for as
 * long
 * as an earlier report may be on its way. `g:{<space>:<cell>}:<slot>` is a set of the nodes that were heard in a cell of 0.25
 * degrees during a slot of time, which
 * expires; a space is an account's own, or the one that every account may read. It only names candidates; the hash decides.
 */
import { hash } from 'node:crypto'
import { createCells, type Place } from '@selvedge/geo'

const cells = createCells(720)
const radians = Math.PI / 180

/** Buckets of an account, by the first digit of the node's id: so that a large fleet is not one key on one shard. */
export const buckets = '0123456789abcdef'.split('')

export const accountKey = (accountId: string, bucket: string): string => `a:{${accountId}:${bucket}}`

export const leftKey = (accountId: string, bucket: string): string => `l:{${accountId}:${bucket}}`

export const bucketOf = (nodeId: string): string => (/^[0-9a-f]/.test(nodeId) ? nodeId[0]! : '0')

/** Node ids are 28 bytes in hexadecimal. */
export const toField = (nodeId: string): Buffer => Buffer.from(nodeId, 'hex')
export const fromField = (field: Buffer): string => field.toString('hex', 0, 28)

export const everybody = 'others'
/** Ids of accounts end in the braces of a key: a digest contains no braces. */
export const spaceOf = (accountId: string): string => hash('sha256', accountId, 'base64url').slice(0, 16)

export const cellKey = (space: string, cell: number, slot: number): string => `g:{${space}:${cell}}:${slot}`

export const cellOf = (place: Place): number => cells.cellOf(place.longitude, place.latitude)

export function cellsWithin(place: Place, radius: number): number[] {
  const found: number[] = []
  cells.visit(place, radius, (cell) => void found.push(cell))
  return found
}

/**
 * A place as seen from the middle of a cell, which is turned to longitude 0, latitude 0. Distances stay what they are, and
 * the engine never meets a pole or the antimeridian, neither of which its GEO commands can deal with.
 */
export function seenFrom(cell: number, place: Place): Place {
  const centre = cells.centreOf(cell)
  const east = (place.longitude - centre.longitude) * radians
  const north = place.latitude * radians
  const tilt = centre.latitude * radians
  const x = Math.cos(north) * Math.cos(east)
  const z = Math.sin(north)
  const forward = x * Math.cos(tilt) + z * Math.sin(tilt)
  const up = Math.min(1, Math.max(-1, z * Math.cos(tilt) - x * Math.sin(tilt)))
  const right = Math.cos(north) * Math.sin(east)
  return { longitude: Math.atan2(right, forward) / radians, latitude: Math.asin(up) / radians }
}
