/**
 * Reads streams of text as lines. What follows the last newline is a line, too: a program that ends in the middle of a line has
 * often written there why.
 */
export { createLineSplitter, type LineRules, type LineSplitter, LineTooLong } from './line-splitter.ts'
export { linesOf, readLines } from './read-lines.ts'
