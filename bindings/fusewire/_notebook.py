"""``%load_ext fusewire``: the cell magic ``%%fusewire``."""

from __future__ import annotations

import ast


class _Decorates(ast.NodeTransformer):
    """Adds the decorator to the functions of a cell, and to those of its classes."""

    def visit_FunctionDef(self, node):  # not into it: functions inside are compiled with it
        name = ast.Attribute(ast.Call(ast.Name("__import__", ast.Load()), [ast.Constant("fusewire")], []), "compile", ast.Load())
        node.decorator_list.append(ast.copy_location(name, node))
        return ast.fix_missing_locations(node)

    def visit_Lambda(self, node):
        return node


def register(ipython) -> None:
    from fusewire._summary import summary

    def fusewire(line: str, cell: str):
        """%%fusewire [summary]: runs the cell with its functions compiled; with the word, prints the summary."""
        words = set(line.split())
        if words - {"summary"}:
            raise ValueError(f"%%fusewire: unknown option {min(words - {'summary'})!r}; there is summary")
        transformer = _Decorates()
        ipython.ast_transformers.append(transformer)
        try:
            result = ipython.run_cell(cell)
        finally:
            if transformer in ipython.ast_transformers:
                ipython.ast_transformers.remove(transformer)
        if "summary" in words and result.success:
            print(summary())

    ipython.register_magic_function(fusewire, "cell", "fusewire")
