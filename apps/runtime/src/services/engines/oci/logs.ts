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
/** Lines that are read again from the end of the log, if it was perhaps not read to its end; and milliseconds for that. */
const lastTail = 20
const lastTailMs = 5000
/** A container that writes more bytes than this without a pause (milliseconds) is read slowly; Podman drops what is not read at its end. */
const burst = { bytes: 64 * 1024, pauseMs: 3000 }

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
  /** Bytes since the last pause, and when the newest of them came. */
  let burstBytes = 0
  let burstAt = 0
  let stream: IncomingMessage | undefined
  const pathOf = (tail: number | 'all', follow: boolean) =>
    `/containers/${name}/logs?follow=${follow}&stdout=true&stderr=true&tail=${tail}`

  async function read(tail: number | 'all', follow = true): Promise<void> {
    isWhole = false
    const opened = await api.follow(pathOf(tail, follow))
    stream = opened
    await readFrames(log, (take) => {
      const onBytes = safely('oci.log', take, () => opened.destroy())
      return readPaced(opened, (bytes) => {
        burstBytes = isPaused() ? bytes.length : burstBytes + bytes.length
        burstAt = performance.now()
        onBytes(bytes)
      })
    })
    isWhole = true
  }

  const isPaused = () => performance.now() - burstAt > burst.pauseMs
  const isPerhapsCut = () => !isWhole || (burstBytes > burst.bytes && !isPaused())

  async function readLast(): Promise<void> {
    log('runtime', `it wrote faster than its output was read; the last ${lastTail} lines:`)
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
      const over = (work: Promise<void>, ms = lastWordsMs) =>
        Promise.race([work, sleep(ms, undefined, { ref: false })])
      await over(reading)
      const isCut = isEnded && isPerhapsCut()
      stream?.destroy()
      // Its last line may have no newline: it is logged when the reading is complete.
      await over(reading)
      if (isCut) await over(readLast(), lastTailMs)
      stream?.destroy()
    },
  }
}
