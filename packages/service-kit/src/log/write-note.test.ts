import { afterEach, expect, it, vi } from 'vitest'
import { writeNote } from './write-note.ts'

afterEach(() => void vi.restoreAllMocks())

it('a note is one line without secrets and control sequences', () => {
  const written: unknown[] = []
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => written.push(text) > 0)
  writeNote('at \x1b[31mpostgres://user:secret@db.example\x07')
  expect(written).toEqual(['at postgres://<redacted>@db.example\n'])
})
