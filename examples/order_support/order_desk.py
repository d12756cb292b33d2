"""The orders of a small shop, kept in memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum


class OrderStatus(StrEnum):
    PROCESSING = "processing"
    SHIPPED = "shipped"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Order:
    order_id: str
    items: tuple[str, ...]
    status: OrderStatus
    note: str


SAMPLE_ORDERS = (
    Order("1001", ("1 walnut desk lamp",), OrderStatus.SHIPPED, "handed to the carrier on Monday"),
    Order("1002", ("2 linen cushions", "1 wool blanket"), OrderStatus.PROCESSING, "ships on Thursday"),
    Order("1003", ("4 dinner plates",), OrderStatus.PROCESSING, "waits for stock"),
)


class OrderDesk:
    """Looks up and cancels orders.

    Both methods answer with a sentence, also when the order is missing or cannot be cancelled: the agent needs
    something it can tell the customer.
    """

    def __init__(self, orders: Iterable[Order] = SAMPLE_ORDERS) -> None:
        self._orders = {order.order_id: order for order in orders}

    def describe_order(self, order_id: str) -> str:
        order = self._orders.get(order_id)
        if order is None:
            return _missing(order_id)
        return f"Order {order.order_id}: {', '.join(order.items)}. Status: {order.status} ({order.note})."

    def cancel_order(self, order_id: str, reason: str) -> str:
        order = self._orders.get(order_id)
        if order is None:
            return _missing(order_id)
        match order.status:
            case OrderStatus.SHIPPED:
                return f"Order {order_id} has shipped already, so it was not cancelled."
            case OrderStatus.CANCELLED:
                return f"Order {order_id} was cancelled before ({order.note}); nothing changed."
            case OrderStatus.PROCESSING:
                self._orders[order_id] = replace(order, status=OrderStatus.CANCELLED, note=f"reason: {reason}")
                return f"Order {order_id} is cancelled."


def _missing(order_id: str) -> str:
    return f"There is no order {order_id}."
