"""Hot loops of language identification: ``text`` turns texts into words; the rest counts, scores and compares."""
