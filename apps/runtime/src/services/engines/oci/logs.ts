/** Passes on what a container writes, as long as it lives. */
import type { IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { inBackground, safely } from '@selvedge/service-kit/safely'
import type { Plan } from '../engine.ts'
import { readPaced } from '../read-paced.ts'
import type { EngineApi } from './engine-api.ts'
import { readFrames } from './log-frames.ts'

/** Milliseconds between two attempts to open the stream. */
const pauseMs = 1000
/** Lines of the past that are read of a container that was found running. */
const adoptedTail = 200

/** Milliseconds that the last lines of a container get to arrive after its end. */
const lastWordsMs = 1000
/** Lines that are read again from the end of the log, if it was not read to its end by then. */
const lastTail = 20

export interface FollowedLogs {
  /**
   * Waits a moment for what was written last, and ends it.
   *
   * @param isEnded whether the container has exited: then its last lines are read, even if it wrote more than was read until now
   */
  finish(isEnded: boolean): Promise<void>
}

/**
 * Follows the log of a container. A stream that ends while the container lives, as it does when the engine restarts, is opened
 * again; what was written in between is in the engine's log only.
 *
 * @param isNew false for a container that was found running: then its last lines are read first
 */
export function followLogs(api: EngineApi, name: string, log: Plan['log'], isNew: boolean): FollowedLogs {
  let isOver = false
  /** The newest stream was read to its end. */
  let isWhole = false
  let stream: IncomingMessage | undefined
  const pathOf = (tail: number | 'all', follow: boolean) =>
    `/containers/${name}/logs?follow=${follow}&stdout=true&stderr=true&tail=${tail}`

  async function read(tail: number | 'all', follow = true): Promise<void> {
    isWhole = false
    const opened = await api.follow(pathOf(tail, follow))
    stream = opened
    await readFrames(log, (take) =>
      readPaced(
        opened,
        safely('oci.log', take, () => opened.destroy()),
      ),
    )
    isWhole = true
  }

  async function readLast(): Promise<void> {
    log('runtime', `some of its output was not read before it exited; its last ${lastTail} lines:`)
    await read(lastTail, false).catch(() => undefined)
  }

  async function readAll(): Promise<void> {
    await read(isNew ? 'all' : adoptedTail).catch(() => undefined)
    while (!isOver) {
      await sleep(pauseMs, undefined, { ref: false })
      if (!isOver) await read(0).catch(() => undefined)
    }
  }
  const reading = readAll()
  inBackground('oci.logs', reading)
  return {
    async finish(isEnded) {
      isOver = true
      const over = (work: Promise<void>) =>
        Promise.race([work, sleep(lastWordsMs, undefined, { ref: false })])
      await over(reading)
      const isBehind = isEnded && !isWhole
      stream?.destroy()
      // Its last line may have no newline: it is logged when the reading is complete.
      await over(reading)
      if (isBehind) await over(readLast())
      stream?.destroy()
    },
  }
}
