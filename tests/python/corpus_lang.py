"""The corpus over the Python language: CASES, from the files of its parts (corpus_lang_*.py)."""

import corpus_lang_arrays
import corpus_lang_classes
import corpus_lang_collections
import corpus_lang_containers
import corpus_lang_control
import corpus_lang_functions
import corpus_lang_library
import corpus_lang_objects
import corpus_lang_scalars

CASES = [case for part in (corpus_lang_objects, corpus_lang_control, corpus_lang_functions, corpus_lang_containers,
                           corpus_lang_library, corpus_lang_collections, corpus_lang_scalars, corpus_lang_arrays, corpus_lang_classes) for case in part.corpus.cases]
