/** The instance of a container that serves, and those before it, which end when they have answered their requests. */
import { setTimeout as sleep } from 'node:timers/promises'
import { inBackground, reportFailure } from '@selvedge/service-kit/safely'
import type { Ending, Plan } from '../engines/engine.ts'
import { endInstance, type Running } from './instances.ts'

/** Seconds that a container gets at most to exit when the runtime ends; systemd gives the runtime 15. */
const maxLastSeconds = 10

/** Seconds for an instance to exit, after the signal that stops it. @param left of the time to answer requests */
function stopSecondsOf({ content: { kind }, settings }: Plan, left: number, isLast: boolean): number {
  if (kind === 'function') return Math.max(1, left)
  const seconds = settings['MCM.STOP_SEC']
  return isLast ? Math.min(seconds, maxLastSeconds) : seconds
}

/** Seconds for which requests wait until those before them are answered by the instance that is replaced. */
const handOverSeconds = 3

export interface Serving {
  current(): Running | undefined
  /** Resolves when the instance that serves has the storage of the container; undefined while it has it. */
  handingOver(): Promise<void> | undefined
  /** Layers of isolation of the last instance that served. */
  isolation(): readonly string[]
  /**
   * Makes an instance the one that serves. With storage, requests wait until those of the instance before are answered, so that no
   * request reads what another one is about to change. Resolves once the instance has the storage. Never rejects.
   *
   * @param onEnded called when the instance ends while it serves
   */
  serve(running: Running, onEnded: (running: Running, ending: Ending) => void): Promise<void>
  /** From now on no instance serves. @returns the one that did */
  release(): Running | undefined
  /**
   * Ends an instance when it has answered its requests, or after a number of seconds.
   *
   * @param isLast whether the runtime ends, too, and has not long
   */
  drain(running: Running, seconds: number, isLast?: boolean): void
  /** Resolves when all instances that were to stop have stopped. */
  drained(): Promise<void>
}

/**
 * @param drainSeconds for an instance that was replaced to answer its requests
 * @param onChange called when another instance serves, or no instance
 * @param onForced called with how an instance exited that was to stop, did not in its time, and was killed
 */
export function createServing(
  now: () => number,
  drainSeconds: number,
  onChange: () => void,
  onForced: (ending: Ending) => void,
): Serving {
  let current: Running | undefined
  let handingOver: Promise<void> | undefined
  let isolation: readonly string[] = []
  const draining = new Set<Promise<void>>()

  async function until(isDone: () => boolean, deadline: number): Promise<void> {
    while (!isDone() && now() < deadline) await sleep(5)
  }

  function drain(running: Running, seconds: number, isLast = false): void {
    const endIdle = async () => {
      const deadline = now() + seconds * 1000
      await until(() => running.requests.underWay === 0, deadline)
      const left = (deadline - now()) / 1000
      await endInstance(running, stopSecondsOf(running.plan, left, isLast))
      draining.delete(done)
    }
    const done = endIdle()
    draining.add(done)
  }

  function install(running: Running, onEnded: (running: Running, ending: Ending) => void): void {
    current = running
    isolation = running.instance.isolation
    onChange()
    const forget = (ending: Ending) => {
      if (current !== running) return ending.isForced && onForced(ending)
      current = undefined
      onChange()
      onEnded(running, ending)
    }
    inBackground('containers.ended', running.ended.then(forget))
  }

  return {
    current: () => current,
    handingOver: () => handingOver,
    isolation: () => isolation,
    serve(running, onEnded) {
      const before = current
      install(running, onEnded)
      const { takeOver } = running.instance
      if (!takeOver) {
        if (before) drain(before, drainSeconds)
        return Promise.resolve()
      }
      const handOver = async () => {
        if (before) await until(() => before.unanswered.underWay === 0, now() + handOverSeconds * 1000)
        await takeOver().catch((cause: unknown) => reportFailure('containers.takeOver', cause))
        if (handingOver === mine) handingOver = undefined
        if (before) drain(before, drainSeconds)
      }
      const mine = handOver()
      handingOver = mine
      return mine
    },
    release() {
      const released = current
      current = undefined
      if (released) onChange()
      return released
    },
    drain,
    async drained() {
      await Promise.all(draining)
    },
  }
}
