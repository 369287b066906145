/** A key whose text sorts as its number does. */
export const keyOf = ({ seq }) => String(seq).padStart(8, '0')
