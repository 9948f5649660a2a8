/** Nodes by number, a column for each thing that is known of them: 60 bytes a node beside its two names. */
import { fixSources, precisions } from '@selvedge/protocol'
import { grown } from '../../index/grid.ts'
import { type KnownLocation, type Location, noAccuracy, scale, toInteger } from '../location-store.ts'

const none = 0xffff_ffff
const suspectBit = 0x80

export class Columns {
  readonly nodeIds: string[] = []
  /** Numbers of nodes and accounts that were removed, for the next ones. */
  readonly #freeSlots: number[] = []
  readonly #freeAccounts: number[] = []
  readonly #names: string[] = []
  readonly #slots = new Map<string, number>()
  readonly #accounts: string[] = []
  readonly #accountNumbers = new Map<string, number>()
  /** First node of each account; the others follow by `next`. */
  readonly #heads: number[] = []
  readonly #sizes: number[] = []
  account = new Uint32Array(0)
  #next = new Uint32Array(0)
  #previous = new Uint32Array(0)
  longitude = new Int32Array(0)
  latitude = new Int32Array(0)
  #speed = new Uint32Array(0)
  #bearing = new Uint16Array(0)
  #accuracy = new Uint32Array(0)
  fixedAt = new Float64Array(0)
  #receivedAt = new Float64Array(0)
  heardAt = new Float64Array(0)
  /** Number of the ownership below which reports are refused. */
  term = new Float64Array(0)
  /** Source in two bits, precision for the account in two, for others in two, and whether it is suspect. */
  #flags = new Uint8Array(0)

  slotOf(nodeId: string): number | undefined {
    return this.#slots.get(nodeId)
  }

  accountNumber(accountId: string): number | undefined {
    return this.#accountNumbers.get(accountId)
  }

  sharedWith(slot: number, audience: 'account' | 'others') {
    return precisions[(this.#flags[slot]! >> (audience === 'account' ? 2 : 4)) & 3]!
  }

  /** Writes a location. @param keepsFix only what the node is now is new; the fix is the one that is known */
  write(location: Location, suspect: boolean, keepsFix: boolean): number {
    const slot = this.slotFor(location.nodeId)
    if (this.#names[slot] !== location.nodeName) this.#names[slot] = location.nodeName
    this.#join(slot, location.accountId)
    this.heardAt[slot] = location.heardAt
    if (!keepsFix) {
      this.longitude[slot] = toInteger.degrees(location.longitude)
      this.latitude[slot] = toInteger.degrees(location.latitude)
      this.#speed[slot] = toInteger.speed(location.speed)
      this.#bearing[slot] = toInteger.bearing(location.bearing)
      this.#accuracy[slot] = toInteger.accuracy(location.accuracy)
      this.fixedAt[slot] = location.fixedAt
      this.#receivedAt[slot] = location.receivedAt
    }
    const { account, others } = location.sharing
    const kept = keepsFix ? this.#flags[slot]! & (suspectBit | 3) : fixSources.indexOf(location.source)
    this.#flags[slot] =
      kept |
      (precisions.indexOf(account) << 2) |
      (precisions.indexOf(others) << 4) |
      (!keepsFix && suspect ? suspectBit : 0)
    return slot
  }

  read(slot: number): KnownLocation {
    const flags = this.#flags[slot]!
    const accuracy = this.#accuracy[slot]!
    return {
      nodeId: this.nodeIds[slot]!,
      nodeName: this.#names[slot]!,
      accountId: this.#accounts[this.account[slot]!] ?? '',
      longitude: this.longitude[slot]! / scale.degrees,
      latitude: this.latitude[slot]! / scale.degrees,
      speed: this.#speed[slot]! / scale.speed,
      bearing: this.#bearing[slot]! / scale.bearing,
      ...(accuracy !== noAccuracy && { accuracy: accuracy / scale.accuracy }),
      fixedAt: this.fixedAt[slot]!,
      receivedAt: this.#receivedAt[slot]!,
      heardAt: this.heardAt[slot]!,
      source: fixSources[flags & 3]!,
      sharing: { account: this.sharedWith(slot, 'account'), others: this.sharedWith(slot, 'others') },
      suspect: (flags & suspectBit) !== 0,
    }
  }

  /** How many nodes an account has. */
  sizeOf(accountId: string): number {
    return this.#sizes[this.#accountNumbers.get(accountId) ?? -1] ?? 0
  }

  momentOf(slot: number): { longitude: number; latitude: number; fixedAt: number } {
    return {
      longitude: this.longitude[slot]! / scale.degrees,
      latitude: this.latitude[slot]! / scale.degrees,
      fixedAt: this.fixedAt[slot]!,
    }
  }

  *ofAccount(accountId: string): Generator<number> {
    const number = this.#accountNumbers.get(accountId)
    if (number === undefined) return
    for (let slot = this.#heads[number]!; slot !== none; slot = this.#next[slot]!) yield slot
  }

  /** Removes a node from its account; its number stays. */
  leave(slot: number): void {
    const number = this.account[slot]!
    if (number === none) return
    const next = this.#next[slot]!
    const previous = this.#previous[slot]!
    if (next !== none) this.#previous[next] = previous
    if (previous !== none) this.#next[previous] = next
    else this.#heads[number] = next
    this.#sizes[number]!--
    this.account[slot] = none
    // Whatever the node reports under its next account is news.
    this.fixedAt[slot] = -1
    if (this.#sizes[number] === 0) this.#removeAccount(number)
  }

  /** Lets a number be used for another node. */
  remove(slot: number): void {
    this.leave(slot)
    this.#slots.delete(this.nodeIds[slot]!)
    this.nodeIds[slot] = ''
    this.#names[slot] = ''
    this.#freeSlots.push(slot)
  }

  /** The number of a node; a new one has neither an account nor a location. */
  slotFor(nodeId: string): number {
    return this.#slots.get(nodeId) ?? this.#add(nodeId)
  }

  #removeAccount(number: number): void {
    this.#accountNumbers.delete(this.#accounts[number]!)
    this.#accounts[number] = ''
    this.#freeAccounts.push(number)
  }

  #add(nodeId: string): number {
    const slot = this.#freeSlots.pop() ?? this.nodeIds.length
    this.nodeIds[slot] = nodeId
    this.#names[slot] = ''
    this.#slots.set(nodeId, slot)
    if (slot >= this.account.length) this.#grow(Math.max(1024, Math.ceil(slot * 1.5)))
    this.account[slot] = none
    this.fixedAt[slot] = -1
    this.term[slot] = -1
    return slot
  }

  #join(slot: number, accountId: string): void {
    let number = this.#accountNumbers.get(accountId)
    if (number !== undefined && this.account[slot] === number) return
    const { [slot]: fixedAt = -1 } = this.fixedAt
    this.leave(slot)
    this.fixedAt[slot] = fixedAt
    number = this.#accountNumbers.get(accountId)
    if (number === undefined) {
      number = this.#freeAccounts.pop() ?? this.#accounts.length
      this.#accounts[number] = accountId
      this.#accountNumbers.set(accountId, number)
      this.#heads[number] = none
      this.#sizes[number] = 0
    }
    const head = this.#heads[number]!
    this.#sizes[number]!++
    this.account[slot] = number
    this.#previous[slot] = none
    this.#next[slot] = head
    if (head !== none) this.#previous[head] = slot
    this.#heads[number] = slot
  }

  #grow(length: number): void {
    this.account = grown(this.account, length)
    this.#next = grown(this.#next, length)
    this.#previous = grown(this.#previous, length)
    this.longitude = grown(this.longitude, length)
    this.latitude = grown(this.latitude, length)
    this.#speed = grown(this.#speed, length)
    this.#bearing = grown(this.#bearing, length)
    this.#accuracy = grown(this.#accuracy, length)
    this.fixedAt = grown(this.fixedAt, length)
    this.#receivedAt = grown(this.#receivedAt, length)
    this.heardAt = grown(this.heardAt, length)
    this.term = grown(this.term, length)
    this.#flags = grown(this.#flags, length)
  }
}
