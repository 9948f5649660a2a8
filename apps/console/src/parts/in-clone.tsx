/** How to write the commands of a page in a clone, where the program is not in PATH. */
export const inClone = (
  <>
    In a clone, write <code>node_modules/.bin/selvedge</code> instead of <code>selvedge</code>.
  </>
)
