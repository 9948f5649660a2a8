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

export interface FollowedLogs {
  /** Waits a moment for what was written last, and ends it. */
  finish(): Promise<void>
}

/**
 * Follows the log of a container. A stream that ends while the container lives, as it does when the engine restarts, is opened
 * again; what was written in between is in the engine's log only.
 *
 * @param isNew false for a container that was found running: then its last lines are read first
 */
export function followLogs(api: EngineApi, name: string, plan: Plan, isNew: boolean): FollowedLogs {
  let isOver = false
  let stream: IncomingMessage | undefined
  const pathOf = (tail: number | 'all') =>
    `/containers/${name}/logs?follow=true&stdout=true&stderr=true&tail=${tail}`

  async function read(tail: number | 'all'): Promise<void> {
    const opened = await api.follow(pathOf(tail))
    stream = opened
    await readFrames(plan.log, (take) =>
      readPaced(
        opened,
        safely('oci.log', take, () => opened.destroy()),
      ),
    )
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
    async finish() {
      isOver = true
      const over = () => Promise.race([reading, sleep(lastWordsMs, undefined, { ref: false })])
      await over()
      stream?.destroy()
      // Its last line may have no newline: it is logged when the reading is complete.
      await over()
    },
  }
}
